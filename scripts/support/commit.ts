import { execFileSync } from "node:child_process";
import { ROOT } from "./root.ts";

/** The commit of this tree, and whether anything was changed since. */
export function commitName(): string {
  try {
    const git = (...args: string[]) => execFileSync("git", args, { cwd: ROOT, encoding: "utf8" }).trim();
    return `${git("rev-parse", "--short", "HEAD")}${git("status", "--porcelain", "-uno") === "" ? "" : " with changes"}`;
  } catch {
    return "unknown";
  }
}
