import { randomBytes } from "node:crypto";

/** A function's failure as clients see it, the same as over HTTP. The id only tells two failures apart. */
export function clientText(message: string): string {
  return `[Request ID: ${randomBytes(8).toString("hex")}] Server Error\n${message}`;
}
