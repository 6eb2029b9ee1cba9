/** Tells requests of this machine from those a foreign web page makes a browser send here. */
import type { IncomingMessage } from "node:http";
import { isIPv4 } from "node:net";
import { RequestError } from "./errors.ts";

/** A foreign page can make its own name resolve to this machine; the Host header then still names the page. */
export function checkLoopbackHost(request: IncomingMessage): void {
  if (isLoopbackHost(request.headers.host)) return;
  throw new RequestError(403, "ForbiddenHost", "Only requests to a loopback host are answered.");
}

/** Refuses what a page of another origin sends: browsers send such requests even where they hide the answer. */
export function checkLoopbackOrigin(request: IncomingMessage): void {
  const { origin } = request.headers;
  if (origin === undefined || isLoopbackOrigin(origin)) return;
  throw new RequestError(403, "ForbiddenOrigin", "Only pages of a loopback origin are answered.");
}

/** A Host header that names this machine, on any port. */
export function isLoopbackHost(host: string | undefined): boolean {
  return isLoopbackName((host ?? "").replace(/:\d+$/, ""));
}

/** An Origin header of a page that this machine served. */
export function isLoopbackOrigin(origin: string): boolean {
  if (!URL.canParse(origin)) return false;
  const { protocol, hostname } = new URL(origin);
  return /^https?:$/.test(protocol) && isLoopbackName(hostname);
}

function isLoopbackName(name: string): boolean {
  return name === "localhost" || name === "[::1]" || (isIPv4(name) && name.startsWith("127."));
}
