import { createServer, request as httpRequest, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { connect } from "node:net";
import { once } from "node:events";
import { afterEach, describe, expect, test } from "vitest";
import { createFrontDoor, type FastRoute } from "../../lib/server/front-door.ts";
import type { Answer, PlainRequest } from "../../lib/server/http.ts";

const HEADERS = { "X-Content-Type-Options": "nosniff" };
let server: Server;
afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

/** A front door with one route below /lane; everything else is answered "rest" by what stands in for Next. */
async function open(handle: (request: PlainRequest) => Promise<Answer>, rest = "rest"): Promise<number> {
  const route: FastRoute = { matches: (pathname) => pathname.startsWith("/lane"), handle };
  const door = createFrontDoor({
    routes: [route],
    siteUrl: "http://localhost:3000",
    headers: HEADERS,
    rest: async (_incoming, outgoing) => {
      if (rest === "throws") throw new Error("made by the test");
      outgoing.end(rest);
    },
  });
  server = createServer(door);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return (server.address() as AddressInfo).port;
}

const plain = (text: string | null, status = 200): Answer => ({ status, headers: { "x-own": "1" }, text });

async function bodyOf({ body }: PlainRequest): Promise<string> {
  const chunks: Uint8Array[] = [];
  if (body !== null) for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks).toString("utf8");
}

describe("the front door", () => {
  test("answers its routes with their headers and its own, and passes the rest on", async () => {
    const port = await open(async ({ method, url, headers }) =>
      plain(`${method} ${url} ${headers.get("X-Sent")} ${headers.get("constructor")}`),
    );
    const response = await fetch(`http://127.0.0.1:${port}/lane/a?b=1`, { headers: { "x-sent": "é" } });
    expect(await response.text()).toBe("GET http://localhost/lane/a?b=1 é null");
    expect(response.headers.get("x-own")).toBe("1");
    expect(response.headers.get("x-content-type-options")).toBe("nosniff");
    const other = await fetch(`http://127.0.0.1:${port}/other`);
    expect([await other.text(), other.headers.get("x-content-type-options")]).toEqual(["rest", null]);
  });

  test("sends whoever asks for a screen at another host to the site, where the sign-in works", async () => {
    const port = await open(async () => plain("lane"));
    const moved = await fetch(`http://127.0.0.1:${port}/app/x?a=1`, { redirect: "manual" });
    expect([moved.status, moved.headers.get("location")]).toEqual([307, "http://localhost:3000/app/x?a=1"]);
    const page = await fetch(`http://127.0.0.1:${port}/docs`);
    expect(await page.text()).toBe("rest");
  });

  test("gives the body as it comes, whole and in order", async () => {
    const port = await open(async (request) => plain(await bodyOf(request)));
    const sent = httpRequest({ port, host: "127.0.0.1", path: "/lane", method: "POST" });
    const answered = once(sent, "response") as Promise<[IncomingMessage]>;
    for (let index = 0; index < 100; index += 1) sent.write(`${index} äöü,`);
    sent.end();
    const [response] = await answered;
    let text = "";
    for await (const chunk of response.setEncoding("utf8")) text += chunk;
    expect(text).toBe(Array.from({ length: 100 }, (_, index) => `${index} äöü,`).join(""));
  });

  test("streams a Response, and stops asking for more while nobody takes it", async () => {
    let pulled = 0;
    let cancelled = false;
    const part = new Uint8Array(64 * 1024);
    const stream = new ReadableStream<Uint8Array>({
      pull(controller) {
        pulled += 1;
        controller.enqueue(part);
      },
      cancel() {
        cancelled = true;
      },
    });
    const port = await open(async () => new Response(stream, { headers: { "x-own": "2" } }));
    const socket = connect({ port, host: "127.0.0.1" });
    socket.write("GET /lane HTTP/1.1\r\nHost: x\r\n\r\n");
    await once(socket, "readable");
    // Nothing is read now. Without a stop the pulling would go on for ever and nobody else would be answered.
    expect(await (await fetch(`http://127.0.0.1:${port}/other`)).text()).toBe("rest");
    expect(pulled).toBeLessThan(1000);
    socket.destroy();
    await expect.poll(() => cancelled).toBe(true);
  });

  test("a stream that breaks half-way is cut, so that nobody takes it for whole", async () => {
    const stream = new ReadableStream<Uint8Array>({
      pull(controller) {
        controller.enqueue(new TextEncoder().encode("half"));
        controller.error(new Error("made by the test"));
      },
    });
    const port = await open(async () => new Response(stream));
    await expect(fetch(`http://127.0.0.1:${port}/lane`).then((it) => it.text())).rejects.toThrow(TypeError);
    expect((await fetch(`http://127.0.0.1:${port}/other`)).status).toBe(200);
  });

  test("a HEAD gets the head of a stream alone", async () => {
    const port = await open(async () => new Response("body", { headers: { "x-own": "3" } }));
    const response = await fetch(`http://127.0.0.1:${port}/lane`, { method: "HEAD" });
    expect([response.headers.get("x-own"), await response.text()]).toEqual(["3", ""]);
  });

  test("a handler that throws is a 500 with an id, and so is what stands behind", async () => {
    const port = await open(async () => {
      throw new Error("made by the test");
    }, "throws");
    const response = await fetch(`http://127.0.0.1:${port}/lane`);
    expect(response.status).toBe(500);
    expect(await response.json()).toMatchObject({ code: "internal", errorId: expect.any(String) });
    expect((await fetch(`http://127.0.0.1:${port}/other`)).status).toBe(500);
  });

  test("an answer that Node would not send ends the connection and nothing else", async () => {
    let status = 99;
    const port = await open(async () => plain("", status));
    await expect(fetch(`http://127.0.0.1:${port}/lane`)).rejects.toThrow(TypeError);
    status = 200;
    expect((await fetch(`http://127.0.0.1:${port}/lane`)).status).toBe(200);
  });

  test("a body that nobody reads does not keep the next request on its connection waiting", async () => {
    const port = await open(async () => plain("refused", 413));
    const socket = connect({ port, host: "127.0.0.1" });
    const long = "a".repeat(300_000);
    socket.write(`POST /lane HTTP/1.1\r\nHost: x\r\nContent-Length: ${long.length}\r\n\r\n${long}`);
    socket.write("GET /other HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    let text = "";
    for await (const chunk of socket.setEncoding("latin1")) text += chunk;
    expect(text.match(/HTTP\/1\.1 \d+/g)).toEqual(["HTTP/1.1 413", "HTTP/1.1 200"]);
  });
});
