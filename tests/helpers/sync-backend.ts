import { vi } from "vitest";
import { join } from "node:path";

import { ConvexClient, type BaseConvexClientOptions } from "convex/browser";
import { WebSocket } from "ws";

import { startServer, type RunningServer, type ServerOptions } from "../../lib/local-convex/server.ts";
import type { VerifyToken } from "../../lib/local-convex/sync/authenticate.ts";
import { localBackend, type LocalBackend, type LocalBackendOptions } from "./local-backend.ts";

/** An engine with its server and official clients on it; all of them end with `close`. */
export interface SyncBackend {
  readonly backend: LocalBackend;
  readonly url: string;
  client(options?: Partial<BaseConvexClientOptions>): ConvexClient;
  close(): Promise<void>;
}

const FUNCTIONS = join(import.meta.dirname, "..", "local-convex", "functions");

export async function syncBackend(
  options: Partial<LocalBackendOptions> = {},
  { verifyToken, ...serverOptions }: Partial<ServerOptions> & { verifyToken?: VerifyToken } = {},
): Promise<SyncBackend> {
  const backend = await localBackend({ functionsDir: FUNCTIONS, ...options });
  const { authenticator } = backend.engine;
  // These tests are about the protocol; what makes a token good is tested with real issuers.
  if (verifyToken !== undefined) vi.spyOn(authenticator, "verifyToken").mockImplementation(verifyToken);
  const server: RunningServer = await startServer(backend.engine, {
    host: "127.0.0.1",
    port: 0,
    ...serverOptions,
  });
  const url = `http://127.0.0.1:${server.port}`;
  const clients: ConvexClient[] = [];
  return {
    backend,
    url,
    client(clientOptions = {}) {
      const client = newClient(url, clientOptions);
      clients.push(client);
      return client;
    },
    async close() {
      await Promise.all(clients.map((client) => client.close()));
      await server.close();
      await backend.close();
    },
  };
}

export function newClient(url: string, options: Partial<BaseConvexClientOptions> = {}): ConvexClient {
  return new ConvexClient(url, {
    webSocketConstructor: WebSocket as never,
    logger: false,
    unsavedChangesWarning: false,
    ...options,
  });
}

/** Resolves when `holds` does; it is asked again whenever the event loop is idle. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  const deadlineMs = Date.now() + 20_000;
  while (!(await holds())) {
    if (Date.now() > deadlineMs) throw new Error(`it did not happen in time: ${String(holds)}`);
    await new Promise((resolve) => {
      setTimeout(resolve, 2);
    });
  }
}
