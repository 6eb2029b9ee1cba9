// Which sign-in and billing provider a stack runs with: the tenant that the environment names, or the emulator here.
import { inboxFaults } from "../../lib/inbox/environment.ts";
import { proxyFaults } from "../../lib/server/client-address.ts";
import {
  CONVEX_AUDIENCE,
  isLoopback,
  type KindeEnvironment,
  postLoginAllowedRegex,
  readKindeEnvironment,
} from "../../lib/kinde/environment.ts";
import { shortLinksFrom } from "../../lib/ledger/short-links.ts";
import { CliError } from "./cli.mjs";
import type { Secrets } from "./secrets.ts";
import { localUrl } from "./stack.ts";

/** Where the emulator listens and how its applications are called; the secrets are of the installation. */
const EMULATOR_CLIENT_ID = "holdfast-web";
const EMULATOR_M2M_CLIENT_ID = "holdfast-m2m";

export interface KindeStack {
  /** Null when a real tenant is configured: then no emulator is started. */
  readonly emulator: { readonly port: number; readonly env: Record<string, string> } | null;
  readonly issuerUrl: string;
  readonly siteUrl: string;
  /** The base of short links: HOLDFAST_SHORT_URL, else the site. */
  readonly shortUrl: string;
  /** For the web server: what the sign-in library reads. */
  readonly webEnv: Record<string, string>;
  /** For the Convex functions: what the provider's client reads. Set by hand on a deployment that runs elsewhere. */
  readonly functionsEnv: Record<string, string>;
}

export interface KindeStackOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly secrets: Secrets;
  readonly host: string;
  readonly port: number;
  readonly kindePort: number;
  /** A Convex deployment that runs elsewhere. */
  readonly convexUrl: string | null;
}

/** Plans the provider of a stack. Throws CliError with one line for whatever could not work. */
export function planKinde(options: KindeStackOptions): KindeStack {
  const isTenant = (options.env["KINDE_ISSUER_URL"] ?? "") !== "";
  return isTenant ? planTenant(options) : planEmulator(options);
}

function planTenant({ env, port }: KindeStackOptions): KindeStack {
  const siteUrl = env["KINDE_SITE_URL"] ?? `http://localhost:${port}`;
  const answer = readKindeEnvironment({ KINDE_AUDIENCE: CONVEX_AUDIENCE, ...env, KINDE_SITE_URL: siteUrl });
  if (answer.kind === "faulty") {
    throw new CliError(answer.faults.map(({ message }) => message).join("; "));
  }
  const { KINDE_API_AUDIENCE: apiAudience } = env;
  return {
    emulator: null,
    issuerUrl: answer.settings.issuerUrl,
    siteUrl,
    shortUrl: shortUrlOf(env, siteUrl),
    webEnv: webEnv(answer.settings),
    functionsEnv: {
      ...functionsEnv(answer.settings),
      ...(apiAudience === undefined ? {} : { KINDE_API_AUDIENCE: apiAudience }),
    },
  };
}

function planEmulator(options: KindeStackOptions): KindeStack {
  const { secrets, host, port, kindePort, convexUrl } = options;
  if (convexUrl !== null && !isLoopback(new URL(convexUrl).hostname)) {
    throw new CliError(
      "CONVEX_URL is another machine, which cannot reach the Kinde emulator on this one: " +
        "set KINDE_ISSUER_URL and the other KINDE_* variables of a tenant, or unset CONVEX_URL",
    );
  }
  if (!isLoopback(host)) {
    throw new CliError(
      `--host ${host} would let others sign in as anybody, because the Kinde emulator asks for no password: ` +
        "set KINDE_ISSUER_URL and the other KINDE_* variables of a tenant, or leave --host out",
    );
  }
  const settings: KindeEnvironment = {
    // Cookies ignore ports: on another host name than the app's, the emulator sees none of the app's and sets none of its own.
    issuerUrl: `http://127.0.0.1:${kindePort}`,
    siteUrl: `http://localhost:${port}`,
    clientId: EMULATOR_CLIENT_ID,
    clientSecret: secrets.kindeClientSecret,
    audience: CONVEX_AUDIENCE,
    m2mClientId: EMULATOR_M2M_CLIENT_ID,
    m2mClientSecret: secrets.kindeM2mSecret,
  };
  const { KINDE_EMULATOR_TOKEN_LIFE_SECONDS: tokenLife, KINDE_EMULATOR_WEBHOOK_TIME_SCALE: timeScale } =
    options.env;
  return {
    emulator: {
      port: kindePort,
      env: {
        KINDE_SITE_URL: settings.siteUrl,
        KINDE_CLIENT_ID: settings.clientId,
        KINDE_CLIENT_SECRET: settings.clientSecret,
        KINDE_M2M_CLIENT_ID: settings.m2mClientId,
        KINDE_M2M_CLIENT_SECRET: settings.m2mClientSecret,
        KINDE_EMULATOR_CONTROL_KEY: secrets.kindeControlKey,
        KINDE_EMULATOR_WEBHOOK_URL: `${localUrl(host, port)}/api/webhooks/kinde`,
        ...(tokenLife === undefined ? {} : { KINDE_EMULATOR_TOKEN_LIFE_SECONDS: tokenLife }),
        ...(timeScale === undefined ? {} : { KINDE_EMULATOR_WEBHOOK_TIME_SCALE: timeScale }),
      },
    },
    issuerUrl: settings.issuerUrl,
    siteUrl: settings.siteUrl,
    shortUrl: shortUrlOf(options.env, settings.siteUrl),
    webEnv: {
      ...webEnv(settings),
      // The operators' fault switches (lib/server/emulator-control.ts).
      KINDE_EMULATOR_CONTROL_URL: settings.issuerUrl,
      KINDE_EMULATOR_CONTROL_KEY: secrets.kindeControlKey,
    },
    functionsEnv: functionsEnv(settings),
  };
}

/** Throws CliError, so that a setting which is first needed late, or on a bad day, is not found wrong then. */
export function requireOwnSettings(env: KindeStackOptions["env"]): void {
  const faults = [...inboxFaults(env), ...proxyFaults(env)];
  if (faults.length > 0) throw new CliError(faults.map(({ message }) => message).join("; "));
}

function shortUrlOf(env: KindeStackOptions["env"], siteUrl: string): string {
  try {
    return shortLinksFrom(env["HOLDFAST_SHORT_URL"], siteUrl).baseUrl;
  } catch (error) {
    throw new CliError(error instanceof Error ? error.message : String(error));
  }
}

function webEnv(settings: KindeEnvironment): Record<string, string> {
  const { siteUrl } = settings;
  return {
    KINDE_ISSUER_URL: settings.issuerUrl,
    KINDE_CLIENT_ID: settings.clientId,
    KINDE_CLIENT_SECRET: settings.clientSecret,
    KINDE_SITE_URL: siteUrl,
    KINDE_AUDIENCE: settings.audience,
    KINDE_POST_LOGIN_REDIRECT_URL: `${siteUrl}/app`,
    KINDE_POST_LOGOUT_REDIRECT_URL: siteUrl,
    KINDE_POST_LOGIN_ALLOWED_URL_REGEX: postLoginAllowedRegex(siteUrl),
  };
}

function functionsEnv(settings: KindeEnvironment): Record<string, string> {
  return {
    // No short link may lead back to the site.
    KINDE_SITE_URL: settings.siteUrl,
    KINDE_ISSUER_URL: settings.issuerUrl,
    KINDE_M2M_CLIENT_ID: settings.m2mClientId,
    KINDE_M2M_CLIENT_SECRET: settings.m2mClientSecret,
  };
}

/**
 * What `next build` needs to be given: the sign-in library refuses to load without it. The build keeps none of it;
 * the running server reads its own environment.
 */
export const BUILD_ENV: Readonly<Record<string, string>> = {
  KINDE_ISSUER_URL: "http://127.0.0.1",
  KINDE_CLIENT_ID: "build",
  KINDE_CLIENT_SECRET: "build".repeat(10),
  KINDE_SITE_URL: "http://localhost",
};
