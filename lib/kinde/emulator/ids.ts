import { createHash, randomBytes } from "node:crypto";

/** An id as Kinde makes them: a prefix and 32 hex digits, the first of which are the time. */
export function timedId(prefix: string, nowMs: number): string {
  return `${prefix}_${nowMs.toString(16).padStart(12, "0")}${randomBytes(10).toString("hex")}`;
}

/** A secret of 256 bits. The prefix keeps it from being read as a number or as JSON: the SDK parses cookie values. */
export function secretId(prefix: string): string {
  return `${prefix}_${randomBytes(32).toString("base64url")}`;
}

/** What is stored of a secret. */
export function hashOf(secret: string): string {
  return createHash("sha256").update(secret).digest("hex");
}
