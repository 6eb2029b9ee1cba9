import { createRequire } from "node:module";
import { CliError } from "./cli.mjs";

/**
 * better-sqlite3 is compiled or downloaded by an install script, which some npm settings skip.
 * Throws CliError with the command that mends it, instead of a stack from deep inside the engine.
 */
export function requireSqlite(): void {
  const require = createRequire(import.meta.url);
  try {
    const Database: new (path: string) => { close(): void } = require("better-sqlite3");
    new Database(":memory:").close();
  } catch (cause) {
    throw new CliError(
      `better-sqlite3 is not built for Node ${process.version}; run: npm rebuild better-sqlite3 --foreground-scripts`,
      { cause },
    );
  }
}
