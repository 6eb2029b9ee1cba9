import { isLoopback, type SettingsFault } from "../kinde/environment.ts";
import { parseAlertSecret } from "./alert.ts";
import { parseAllowances } from "./allowance.ts";
import { parseSilenceHours } from "./drift.ts";

/** The settings of the inbox as environment variables, judged once at start. Each may be left out. */

type Environment = Readonly<Record<string, string | undefined>>;

/** Everything that is wrong, one line each. No value is shown: the address of an alert may be a secret itself. */
export function inboxFaults(env: Environment): SettingsFault[] {
  const faults: SettingsFault[] = [];
  const note = (variable: string, problem: string | null): void => {
    if (problem !== null) faults.push({ variable, message: `${variable} ${problem}` });
  };
  const { HOLDFAST_ALERT_URL: url = "", HOLDFAST_ALERT_SECRET: secret = "" } = env;
  if (url !== "") note("HOLDFAST_ALERT_URL", judgeAlertUrl(url));
  if (url !== "" || secret !== "") note("HOLDFAST_ALERT_SECRET", judgeAlertSecret(secret));
  note("HOLDFAST_ALLOWANCES", judgeAllowances(env["HOLDFAST_ALLOWANCES"] ?? ""));
  if (parseSilenceHours(env["HOLDFAST_WEBHOOK_SILENCE_HOURS"]) === null) {
    note("HOLDFAST_WEBHOOK_SILENCE_HOURS", "must be a whole number of hours from 1 to 8760");
  }
  return faults;
}

/** What is wrong with the address of alerts; null when it can be used. What is said there is for nobody else to read. */
export function judgeAlertUrl(value: string): string | null {
  if (!URL.canParse(value)) return "is not a URL; it begins with https://";
  const { protocol, hostname, username, password } = new URL(value);
  if (username !== "" || password !== "") return "must not hold a user name or a password";
  if (protocol === "https:" || (protocol === "http:" && isLoopback(hostname))) return null;
  return "must begin with https:// outside this machine";
}

function judgeAlertSecret(secret: string): string | null {
  if (secret === "") return "is not set, but HOLDFAST_ALERT_URL is";
  return parseAlertSecret(secret) === null ? "must be whsec_ and 24 to 64 bytes in base64" : null;
}

function judgeAllowances(text: string): string | null {
  if (text === "") return null;
  try {
    parseAllowances(text);
    return null;
  } catch (error) {
    return error instanceof Error ? `is not a catalogue: ${error.message}` : "is not a catalogue";
  }
}
