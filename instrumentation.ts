/** Runs once when the web server starts, on every host. Node's own parts are loaded only where there is Node. */
export async function register(): Promise<void> {
  if (process.env["NEXT_RUNTIME"] === "nodejs") {
    const { endOnFaultySettings } = await import("./lib/server/start-check.ts");
    endOnFaultySettings(process);
  }
}
