import { execFileSync } from "node:child_process";
import { defineConfig } from "@playwright/test";

/** The system's Chromium, so that nothing is downloaded; CHROMIUM_PATH names another one. */
function chromiumPath(): string {
  const named = process.env["CHROMIUM_PATH"];
  if (named !== undefined && named !== "") return named;
  try {
    return execFileSync("sh", ["-c", "command -v chromium || command -v google-chrome"], {
      encoding: "utf8",
    }).trim();
  } catch {
    throw new Error("no Chromium found: install it (Debian: apt-get install chromium) or set CHROMIUM_PATH");
  }
}

export default defineConfig({
  testDir: "tests/e2e",
  testMatch: "*.spec.ts",
  // Each worker runs a stack of its own; one at a time is what a small machine bears.
  workers: 1,
  timeout: 120_000,
  expect: { timeout: 20_000 },
  reporter: "list",
  use: {
    locale: "en-GB",
    timezoneId: "Europe/Berlin",
    trace: "off",
    launchOptions: {
      executablePath: chromiumPath(),
      args: [
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        // The browser's own calls home must not leave this machine either.
        "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1",
      ],
    },
  },
});
