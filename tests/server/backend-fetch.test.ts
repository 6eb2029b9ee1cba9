import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import { createBackendFetch, NoAnswerError } from "../../lib/server/backend-fetch.ts";

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

async function listen(onRequest: (response: ServerResponse) => void) {
  const sockets = new Set<unknown>();
  const server = createServer((request, response) => {
    sockets.add(request.socket);
    request.resume().on("end", () => onRequest(response));
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  closers.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, sockets };
}

const post = { method: "POST", headers: { "content-type": "application/json" }, body: '{"é":1}' };

test("two hundred calls are under way at once", async () => {
  const waiting: ServerResponse[] = [];
  const { url } = await listen((response) => {
    waiting.push(response);
    // Nobody is answered before the last one is here: a maximum below it would never end.
    if (waiting.length === 200) for (const each of waiting) each.end("{}");
  });
  const backendFetch = createBackendFetch(20_000);
  const answers = await Promise.all(Array.from({ length: 200 }, () => backendFetch(url, post)));
  expect(answers.every((answer) => answer.ok)).toBe(true);
});

test("calls one after the other share a connection", async () => {
  const { url, sockets } = await listen((response) => response.end('{"ok":true}'));
  const backendFetch = createBackendFetch(5000);
  for (let call = 0; call < 5; call += 1) {
    const answer = await backendFetch(url, post);
    expect(await answer.json()).toEqual({ ok: true });
  }
  expect(sockets.size).toBe(1);
});

test.each<[name: string, onRequest: (response: ServerResponse) => void]>([
  ["no answer in time", () => undefined],
  ["a connection cut before the answer", (response) => response.destroy()],
  [
    "a connection cut inside the answer",
    (response) => {
      response.writeHead(200, { "content-length": "100" }).write("{", () => response.destroy());
    },
  ],
])("%s is NoAnswerError", async (_name, onRequest) => {
  const { url } = await listen(onRequest);
  await expect(createBackendFetch(200)(url, post)).rejects.toBeInstanceOf(NoAnswerError);
});
