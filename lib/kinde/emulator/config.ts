import { z } from "zod";
import { MACHINE_SCOPES, type MachineScope, wordsOf } from "./scopes.ts";
import { SCALE_MAX, SCALE_MIN } from "./webhooks-clock.ts";
import { webhookTarget } from "./webhooks-target.ts";

/** The form of a Kinde client secret. The Next.js SDK refuses any other, with a 500 that shows the secret. */
const SECRET = /^[a-zA-Z0-9]{40,60}$/;
const CONTROL_KEY_LENGTH_MIN = 16;
const DAY_SECONDS = 86_400;

export interface EmulatorConfig {
  readonly clientId: string;
  readonly clientSecret: string;
  readonly m2mClientId: string;
  readonly m2mClientSecret: string;
  readonly controlKey: string;
  /** The one origin that browsers are sent back to: "http://localhost:3000". */
  readonly siteOrigin: string;
  readonly tokenLifeSeconds: number;
  /** How long a refresh token that was replaced still works. Pages of one browser refresh at the same time. */
  readonly refreshOverlapSeconds: number;
  /** Kinde answers a refresh with the access token that is still valid; "new" makes a new one each time. */
  readonly refreshAnswer: "same" | "new";
  readonly strict: boolean;
  /** What the machine application is granted; by default every scope there is. */
  readonly machineScopes: readonly MachineScope[];
  /** Where all events go without anybody having asked; null for nowhere. */
  readonly webhookUrl: string | null;
  /** Real time per time that deliveries wait: 0.001 makes them a thousand times faster. */
  readonly webhookTimeScale: number;
  /** Real time, whatever the scale: what answers does not get faster. */
  readonly webhookTimeoutMs: number;
  /** Whether webhooks carry `iss`. Real ones are said not to. */
  readonly webhookIss: "none" | "tenant";
}

/** A setting is missing or wrong. The message is one line that names it and never shows its value. */
export class ConfigError extends Error {
  readonly code = "config_invalid";
  override readonly name = "ConfigError";
}

const text = z.string({ error: "is missing" }).min(1, "is missing");
const secret = text.regex(SECRET, "must be 40 to 60 letters and digits");
const seconds = (defaultSeconds: number, min: number, max: number) =>
  z
    .string()
    .default(String(defaultSeconds))
    .refine((value) => /^\d{1,9}$/.test(value) && Number(value) >= min && Number(value) <= max, {
      error: `must be a whole number of seconds from ${min} to ${max}`,
    })
    .transform(Number);

const environment = z.object({
  KINDE_CLIENT_ID: text,
  KINDE_CLIENT_SECRET: secret,
  KINDE_M2M_CLIENT_ID: text,
  KINDE_M2M_CLIENT_SECRET: secret,
  KINDE_EMULATOR_CONTROL_KEY: text.min(
    CONTROL_KEY_LENGTH_MIN,
    `must have at least ${CONTROL_KEY_LENGTH_MIN} characters`,
  ),
  KINDE_SITE_URL: text
    .refine((url) => !url.endsWith("/"), "must not end in a slash")
    .refine(isOrigin, "must be an http or https origin such as http://localhost:3000"),
  KINDE_EMULATOR_TOKEN_LIFE_SECONDS: seconds(DAY_SECONDS, 1, 30 * DAY_SECONDS),
  KINDE_EMULATOR_REFRESH_OVERLAP_SECONDS: seconds(30, 0, 3_600),
  KINDE_EMULATOR_REFRESH: z.enum(["same", "new"], { error: "must be same or new" }).default("same"),
  KINDE_EMULATOR_STRICT: z
    .enum(["on", "off", "true", "false", "1", "0"], { error: "must be on or off" })
    .default("on"),
  KINDE_EMULATOR_MACHINE_SCOPES: z
    .string()
    .default(MACHINE_SCOPES.join(" "))
    .transform(wordsOf)
    .pipe(
      z.array(z.enum(MACHINE_SCOPES, { error: "must be scopes, separated by spaces" })).min(1, "is empty"),
    ),
  KINDE_EMULATOR_WEBHOOK_URL: z
    .string()
    .refine(
      (url) => webhookTarget(url) !== null,
      "must be an http URL on loopback such as http://127.0.0.1:3000/hook",
    )
    .optional(),
  KINDE_EMULATOR_WEBHOOK_TIME_SCALE: z
    .string()
    .default("1")
    .refine((value) => /^[\d.]+$/.test(value) && isScale(Number(value)), {
      error: `must be a number from ${SCALE_MIN.toFixed(6)} to ${SCALE_MAX}`,
    })
    .transform(Number),
  KINDE_EMULATOR_WEBHOOK_TIMEOUT_SECONDS: seconds(10, 1, 600),
  KINDE_EMULATOR_WEBHOOK_ISS: z.enum(["none", "tenant"], { error: "must be none or tenant" }).default("none"),
});

/** Reads the settings from environment variables. Throws ConfigError for the first that is missing or wrong. */
export function readConfig(env: Readonly<Record<string, string | undefined>>): EmulatorConfig {
  const parsed = environment.safeParse(env);
  if (!parsed.success) {
    const issue = parsed.error.issues[0]!;
    throw new ConfigError(`${String(issue.path[0])} ${issue.message}.`);
  }
  const values = parsed.data;
  if (values.KINDE_CLIENT_ID === values.KINDE_M2M_CLIENT_ID) {
    throw new ConfigError("KINDE_M2M_CLIENT_ID must differ from KINDE_CLIENT_ID.");
  }
  return {
    clientId: values.KINDE_CLIENT_ID,
    clientSecret: values.KINDE_CLIENT_SECRET,
    m2mClientId: values.KINDE_M2M_CLIENT_ID,
    m2mClientSecret: values.KINDE_M2M_CLIENT_SECRET,
    controlKey: values.KINDE_EMULATOR_CONTROL_KEY,
    siteOrigin: new URL(values.KINDE_SITE_URL).origin,
    tokenLifeSeconds: values.KINDE_EMULATOR_TOKEN_LIFE_SECONDS,
    refreshOverlapSeconds: values.KINDE_EMULATOR_REFRESH_OVERLAP_SECONDS,
    refreshAnswer: values.KINDE_EMULATOR_REFRESH,
    strict: ["on", "true", "1"].includes(values.KINDE_EMULATOR_STRICT),
    machineScopes: values.KINDE_EMULATOR_MACHINE_SCOPES,
    webhookUrl: webhookTarget(values.KINDE_EMULATOR_WEBHOOK_URL ?? ""),
    webhookTimeScale: values.KINDE_EMULATOR_WEBHOOK_TIME_SCALE,
    webhookTimeoutMs: values.KINDE_EMULATOR_WEBHOOK_TIMEOUT_SECONDS * 1000,
    webhookIss: values.KINDE_EMULATOR_WEBHOOK_ISS,
  };
}

function isScale(value: number): boolean {
  return value >= SCALE_MIN && value <= SCALE_MAX;
}

function isOrigin(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && /^https?:$/.test(url.protocol) && url.origin === text.toLowerCase();
}
