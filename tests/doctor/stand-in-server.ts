import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";

/** A server on a free port that answers as a test says. */
export interface StandIn {
  readonly url: string;
  readonly port: number;
  close(): Promise<void>;
}

export async function standIn(listener: RequestListener): Promise<StandIn> {
  const server: Server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

export function answerJson(response: ServerResponse, value: unknown, status = 200): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));
}

/** A tenant with other documents of discovery and keys, and nothing else. */
export function tenantWith(documents: {
  configuration?: (origin: string) => unknown;
  keys?: unknown;
}): RequestListener {
  return (request: IncomingMessage, response) => {
    const origin = `http://${request.headers.host}`;
    if (request.url === "/.well-known/openid-configuration") {
      return answerJson(response, (documents.configuration ?? ((issuer) => ({ issuer })))(origin));
    }
    if (request.url === "/.well-known/jwks.json") return answerJson(response, documents.keys ?? { keys: [] });
    return answerJson(response, {}, 404);
  };
}

/** The health of a site that runs. */
export const healthySite: RequestListener = (_request, response) =>
  answerJson(response, { status: "ok", parts: { convex: { status: "ok" } } });
