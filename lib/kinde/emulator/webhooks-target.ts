import { isLoopbackHost } from "./loopback.ts";

/** Where webhooks may go: http on this machine. The URL as it is kept; null for any other. */
export function webhookTarget(text: string): string | null {
  const url = URL.parse(text);
  if (url === null || url.protocol !== "http:" || url.username !== "" || url.password !== "") return null;
  const host = url.hostname === "[::1]" ? "::1" : url.hostname;
  if (!isLoopbackHost(host)) return null;
  url.hash = "";
  return url.href;
}
