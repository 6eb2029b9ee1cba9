import { request } from "node:http";
import { webhookTarget } from "./webhooks-target.ts";

export type PostOutcome =
  | { readonly kind: "answered"; readonly status: number }
  | { readonly kind: "failed"; readonly failure: string };

/**
 * Sends one webhook. Never rejects. The answer is its status line: the body is dropped, redirects are not followed. Each
 * has a connection of its own, because a kept one that the receiver has closed would fail for no reason of the receiver.
 */
export function postWebhook(
  url: string,
  options: {
    readonly token: string;
    readonly webhookId: string;
    readonly timeoutMs: number;
    readonly signal: AbortSignal;
  },
): Promise<PostOutcome> {
  const { token, webhookId, timeoutMs, signal } = options;
  if (webhookTarget(url) === null) return Promise.resolve({ kind: "failed", failure: "not a loopback URL" });
  const headers = {
    "content-type": "application/jwt",
    "content-length": Buffer.byteLength(token),
    "webhook-id": webhookId,
  };
  return new Promise((resolve) => {
    const sent = request(url, { method: "POST", headers, agent: false, signal });
    const timer = setTimeout(() => sent.destroy(new Error(`no answer in ${timeoutMs} ms`)), timeoutMs);
    sent.on("response", (response) => {
      resolve({ kind: "answered", status: response.statusCode! });
      response.resume();
    });
    sent.on("error", (error: NodeJS.ErrnoException) =>
      resolve({ kind: "failed", failure: error.code ?? error.message }),
    );
    sent.on("close", () => {
      clearTimeout(timer);
      resolve({ kind: "failed", failure: "the connection was closed" });
    });
    sent.end(token);
  });
}
