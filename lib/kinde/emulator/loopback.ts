import { isIPv4 } from "node:net";

/** Whether a name to listen on means this machine only. */
export function isLoopbackHost(host: string): boolean {
  return host === "localhost" || host === "::1" || (isIPv4(host) && host.startsWith("127."));
}

/** Whether the Host header of a request names this machine. */
export function isLoopbackHostHeader(header: string | undefined): boolean {
  const name = (header ?? "").replace(/:\d+$/, "");
  return isLoopbackHost(name === "[::1]" ? "::1" : name);
}
