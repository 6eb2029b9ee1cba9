// The web process of `npm start`: a Node HTTP server that answers the fast lane itself and hands the rest to Next.js.
// Expects a production build. Ends when its stdin closes (exit-with-parent) and on SIGTERM or SIGINT.
import { createServer } from "node:http";
import next from "next";
import { parseTrustedProxies, proxyFaults } from "../lib/server/client-address.ts";
import { createFrontDoor, fastRoutes, signInPaths } from "../lib/server/front-door.ts";
import { createWebServer } from "../lib/server/node-http.ts";
import { processRedirects } from "../lib/server/redirect-deps.ts";
import { answerPolicy } from "../lib/server/content-security.ts";
import { securityHeaders } from "../lib/server/security-headers.ts";
import { CliError, parseOptions, runMain } from "./support/cli.mjs";
import { ROOT } from "./support/root.ts";

const OPTIONS = {
  hostname: { type: "string", default: "127.0.0.1", help: "address to bind" },
  port: { type: "integer", minimum: 1, maximum: 65_535, default: 3000, help: "port to bind" },
} as const;

/** Shorter than the five seconds that the supervisor gives a part to end in. */
const FLUSH_WAIT_MS = 3_000;

await runMain("serve", async (argv) => {
  const { hostname, port } = parseOptions(OPTIONS, argv);
  const trustedProxies = parseTrustedProxies(process.env.HOLDFAST_TRUSTED_PROXIES);
  if (trustedProxies === null) {
    throw new CliError(
      proxyFaults(process.env)
        .map(({ message }) => message)
        .join("; "),
    );
  }
  // Next listens for upgrades on the server it is given. Nothing here upgrades: left out, an Upgrade header is
  // ignored as HTTP allows, where Next would close the connection (curl --http2 sends one).
  // Now and not at the first click: clicks of a process that was killed are written at the start.
  const redirects = processRedirects();
  const app = next({ dev: false, dir: ROOT, hostname, port, httpServer: createServer() });
  await app.prepare();
  const headers = { ...securityHeaders, "Content-Security-Policy": answerPolicy({ isDevelopment: false }) };
  const handleRest = app.getRequestHandler();
  const server = createWebServer(
    createFrontDoor({
      routes: fastRoutes,
      siteUrl: process.env.KINDE_SITE_URL,
      headers,
      rest: handleRest,
      guardedRest: signInPaths,
      trustedProxies,
    }),
  );
  const ended = new Promise<void>((resolve, reject) => {
    server.once("close", resolve);
    server.once("error", reject);
  });
  // Answers that are under way are finished; idle connections end at once.
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => server.close());
  server.listen(port, hostname);
  await ended;
  await redirects.close(FLUSH_WAIT_MS);
  await app.close();
  return 0;
});
