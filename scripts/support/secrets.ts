import { randomBytes } from "node:crypto";
import { linkSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { closeToOthers } from "../../lib/shared/private-files.ts";
import { CliError } from "./cli.mjs";
import { errorCode, reasonOf } from "./data-dir.ts";

/** The secrets of an installation, made at its first start and kept in files only their owner can read. */
export interface Secrets {
  /** What the Next.js server proves itself with to the Convex functions: 256 bits in hex. */
  readonly serverSecret: string;
  /** The operator's API key, `hf_op_` and 256 bits in base64url. */
  readonly operatorKey: string;
  readonly operatorKeyFile: string;
  /** The web application's secret at the Kinde emulator, in the shape that the sign-in library asks for. */
  readonly kindeClientSecret: string;
  /** The machine application's secret at the Kinde emulator. */
  readonly kindeM2mSecret: string;
  /** Opens the emulator's control API: users, plans, faults. */
  readonly kindeControlKey: string;
}

/** What a call to the functions in the operator's name needs. */
export type CallerSecrets = Pick<Secrets, "serverSecret" | "operatorKey">;

interface SecretKind {
  readonly file: string;
  readonly shape: RegExp;
  readonly make: () => string;
}

const SERVER_SECRET: SecretKind = {
  file: "server-secret",
  shape: /^[0-9a-f]{64}$/,
  make: () => randomBytes(32).toString("hex"),
};
const OPERATOR_KEY: SecretKind = {
  file: "operator-key",
  shape: /^hf_op_[A-Za-z0-9_-]{43}$/,
  make: () => `hf_op_${randomBytes(32).toString("base64url")}`,
};

const hexSecret = (file: string): SecretKind => ({
  file,
  shape: /^[0-9a-f]{48}$/,
  make: () => randomBytes(24).toString("hex"),
});
const KINDE_CLIENT_SECRET = hexSecret("kinde-client-secret");
const KINDE_M2M_SECRET = hexSecret("kinde-m2m-secret");
const KINDE_CONTROL_KEY = hexSecret("kinde-control-key");

/** The secrets of a data directory, made when there are none. Throws CliError for a file that is not a secret. */
export function openSecrets(dataDir: string): Secrets {
  return {
    serverSecret: openSecret(dataDir, SERVER_SECRET),
    operatorKey: openSecret(dataDir, OPERATOR_KEY),
    operatorKeyFile: join(dataDir, OPERATOR_KEY.file),
    kindeClientSecret: openSecret(dataDir, KINDE_CLIENT_SECRET),
    kindeM2mSecret: openSecret(dataDir, KINDE_M2M_SECRET),
    kindeControlKey: openSecret(dataDir, KINDE_CONTROL_KEY),
  };
}

function openSecret(dataDir: string, kind: SecretKind): string {
  const path = join(dataDir, kind.file);
  let text: string;
  try {
    text = readFileSync(path, "utf8").trim();
  } catch (error) {
    if (errorCode(error) === "ENOENT") return createSecret(path, kind);
    throw new CliError(`the secret file ${path} cannot be read (${reasonOf(error)})`, { cause: error });
  }
  if (!kind.shape.test(text)) {
    throw new CliError(
      `the secret file ${path} is ${text === "" ? "empty" : "malformed"}; restore it, or delete it to have a new one made`,
    );
  }
  // A copy from a backup may have come back readable for all.
  closeToOthers(path);
  return text;
}

/** Written aside and linked into place, so that a crash leaves a whole secret or none. */
function createSecret(path: string, kind: SecretKind): string {
  const secret = kind.make();
  const aside = `${path}.${process.pid}.new`;
  try {
    writeFileSync(aside, `${secret}\n`, { mode: 0o600, flag: "wx", flush: true });
    linkSync(aside, path);
  } catch (cause) {
    throw new CliError(`the secret file ${path} cannot be written (${reasonOf(cause)})`, { cause });
  } finally {
    rmSync(aside, { force: true });
  }
  return secret;
}
