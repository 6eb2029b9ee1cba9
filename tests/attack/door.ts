import type { AddressInfo } from "node:net";

import { createFrontDoor, fastRoutes, signInPaths } from "../../lib/server/front-door.ts";
import { createWebServer } from "../../lib/server/node-http.ts";
import { openRedirects } from "../../lib/server/redirect-deps.ts";
import { SERVER_SECRET } from "../helpers/backend.ts";
import type { World } from "./world.ts";

/** The front door of `npm start` in this process, on the functions of a world; what is Next's is answered with 299. */
export interface Door {
  readonly url: string;
  readonly port: number;
  /** Requests that went on to what stands in for Next, as "GET /path". */
  readonly passedOn: string[];
  /** The time by which clients are held back; it stands still unless a test moves it. */
  advanceMs(ms: number): void;
  /** Asks as the client of that address: one trusted proxy says who asks. */
  ask(client: string, path: string, init?: RequestInit): Promise<Response>;
  close(): Promise<void>;
}

/** The routes take their settings from the environment of the process, so there is one door at a time. */
export async function openDoor(world: World): Promise<Door> {
  const settings = {
    CONVEX_URL: world.url,
    HOLDFAST_SERVER_SECRET: SERVER_SECRET,
    KINDE_ISSUER_URL: world.issuer.url,
    KINDE_SITE_URL: "http://localhost:3000",
  };
  Object.assign(process.env, settings);
  const passedOn: string[] = [];
  let elapsedMs = 0;
  const server = createWebServer(
    createFrontDoor({
      routes: fastRoutes,
      siteUrl: undefined,
      headers: {},
      rest: (incoming, outgoing) => {
        passedOn.push(`${incoming.method} ${incoming.url}`);
        outgoing.writeHead(299).end();
        return Promise.resolve();
      },
      guardedRest: signInPaths,
      trustedProxies: 1,
      elapsedMs: () => elapsedMs,
    }),
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;
  return {
    url,
    port,
    passedOn,
    advanceMs(ms) {
      elapsedMs += ms;
    },
    async ask(client, path, { headers, ...init } = {}) {
      const sent = new Headers(headers);
      sent.set("x-forwarded-for", `made-up, ${client}`);
      return await fetch(url + path, { redirect: "manual", ...init, headers: sent });
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await openRedirects()?.close();
      for (const name of Object.keys(settings)) delete process.env[name];
    },
  };
}
