import { request as httpRequest } from "node:http";
import { createServer, type AddressInfo } from "node:net";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { startServer, type RunningServer } from "../../lib/local-convex/server.ts";
import { runEngineProcess, startEngineProcess } from "../helpers/engine-process.ts";
import { localBackend, type LocalBackend } from "../helpers/local-backend.ts";
import { startTestIssuer, type TestIssuer } from "../helpers/test-issuer.ts";

const HERE = import.meta.dirname;
const MIB = 1024 * 1024;

let issuer: TestIssuer;
let backend: LocalBackend;
let server: RunningServer;
let reports: string[];
/** The main port, below /http, and the port of the site. */
let main: string;
let site: string;

beforeAll(async () => {
  issuer = await startTestIssuer();
  reports = [];
  backend = await localBackend({
    functionsDir: join(HERE, "site-functions"),
    env: { KINDE_ISSUER_URL: issuer.url, TEST_SECRET: "very-secret-text" },
    onReport: (source, text) => reports.push(`${source}: ${text}`),
  });
  server = await startServer(backend.engine, { host: "127.0.0.1", port: 0, sitePort: 0 });
  main = `http://127.0.0.1:${server.port}/http`;
  site = `http://127.0.0.1:${server.sitePort}`;
});

afterAll(async () => {
  await server.close();
  await backend.close();
  await issuer.close();
});

const json = async (url: string, init: RequestInit = {}) =>
  (await (await fetch(url, init)).json()) as Record<string, unknown>;
const text = async (url: string, init: RequestInit = {}) => {
  const response = await fetch(url, init);
  return [response.status, await response.text()];
};

describe("routes", () => {
  test("are served below /http and on the site's own port, with the URL the public sees", async () => {
    const below = await json(`${main}/echo?a=1&b=%20`, { headers: { "x-own": "y" } });
    expect(below).toMatchObject({
      method: "GET",
      url: `http://127.0.0.1:${server.port}/echo?a=1&b=%20`,
      headers: { "x-own": "y", host: `127.0.0.1:${server.port}` },
      size: 0,
    });
    expect(await json(`${site}/echo?a=1`)).toMatchObject({ url: `${site}/echo?a=1` });
  });

  test.each(["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])("%s reaches its handler", async (method) => {
    expect(await json(`${main}/echo`, { method, body: "hi" })).toMatchObject({ method, bytes: [104, 105] });
    expect(await json(`${site}/echo`, { method })).toMatchObject({ method, size: 0 });
  });

  test("a prefix takes every path below it", async () => {
    expect(await json(`${site}/files/a/b%2Fc`)).toMatchObject({ url: `${site}/files/a/b%2Fc` });
  });

  test("what is not routed is 404, also on paths the API has", async () => {
    const missing = [404, "No matching routes found"];
    expect(await text(`${main}/nothing`)).toEqual(missing);
    expect(await text(main)).toEqual(missing);
    expect(await text(`${site}/`)).toEqual(missing);
    expect(await text(`${site}/who`, { method: "POST" })).toEqual(missing);
    expect(await text(`${site}/api/query`, { method: "POST" })).toEqual(missing);
    expect(await text(`${main}/nothing`, { method: "OPTIONS" })).toEqual(missing);
  });

  test("functions beside the routes are functions like any other", async () => {
    expect(await backend.query("http:beside")).toBe("a function beside the routes");
  });

  test("without an http module there are none", async () => {
    const other = await localBackend({ functionsDir: join(HERE, "functions") });
    const plain = await startServer(other.engine, { host: "127.0.0.1", port: 0 });
    expect(await text(`http://127.0.0.1:${plain.port}/http/echo`)).toEqual([
      404,
      "This Convex deployment does not have HTTP actions enabled.",
    ]);
    expect(plain.sitePort).toBeNull();
    await plain.close();
    await other.close();
  });

  test("only requests to a loopback host are answered, on both ports", async () => {
    for (const port of [server.port, server.sitePort!]) {
      const status = await new Promise((resolve, reject) => {
        const path = port === server.port ? "/http/echo" : "/echo";
        const request = httpRequest({ port, path, headers: { host: "evil.example" } }, (response) => {
          response.resume();
          resolve(response.statusCode);
        });
        request.on("error", reject);
        request.end();
      });
      expect(status).toBe(403);
    }
  });

  test("CORS is the handlers' own matter", async () => {
    const response = await fetch(`${site}/echo`, { headers: { origin: "https://partner.example" } });
    expect(response.status).toBe(200);
    expect(response.headers.get("access-control-allow-origin")).toBeNull();
  });
});

describe("who calls", () => {
  test("a user's token names the user, in nested calls too", async () => {
    const authorization = `Bearer ${await issuer.sign()}`;
    expect(await json(`${site}/who`, { headers: { authorization } })).toEqual({
      own: "kp_1",
      nested: "kp_1",
    });
  });

  test.each(["Bearer of-our-own-scheme", "Basic eDp5", "Convex wrong"])(
    "%s does not fail the request and names nobody",
    async (authorization) => {
      const response = await fetch(`${site}/who`, { headers: { authorization } });
      expect([response.status, await response.json()]).toEqual([200, { own: null, nested: null }]);
    },
  );
});

describe("bodies", () => {
  test("bytes pass unchanged both ways, with status and headers", async () => {
    const bytes = Uint8Array.from({ length: 1_000_000 }, (_, i) => (i * 7) % 256);
    const response = await fetch(`${site}/bytes`, { method: "POST", body: bytes });
    expect(response.status).toBe(201);
    expect(response.headers.get("x-own")).toBe("yes");
    expect(Buffer.compare(Buffer.from(await response.arrayBuffer()), Buffer.from(bytes))).toBe(0);
  });

  test("an answer streams, and each piece may still call functions", async () => {
    const response = await fetch(`${site}/stream`);
    expect(response.headers.getSetCookie()).toEqual(["a=1", "b=2"]);
    expect(await response.text()).toBe("3 0\n2 0\n1 0\n");
  });

  test("a request streams in while its answer streams out", async () => {
    const sent = httpRequest(`${site}/bytes`, { method: "POST" });
    const response = new Promise<NodeJS.ReadableStream>((resolve, reject) => {
      sent.on("response", resolve);
      sent.on("error", reject);
    });
    sent.write("one");
    const pieces: string[] = [];
    for await (const piece of await response) {
      pieces.push(String(piece));
      if (pieces.length === 1) sent.end("two");
    }
    expect(pieces).toEqual(["one", "two"]);
  });

  test("HEAD gets the headers of GET and no body", async () => {
    const response = await fetch(`${site}/stream`, { method: "HEAD" });
    expect([response.status, response.headers.get("content-type")]).toEqual([200, "text/event-stream"]);
    expect(await response.text()).toBe("");
  });

  test("a body nobody reads leaves the connection usable", async () => {
    for (let round = 0; round < 3; round++) {
      const body = "x".repeat(MIB);
      expect((await fetch(`${site}/ignores-body`, { method: "POST", body })).status).toBe(204);
    }
  });

  test("20 MiB are taken, one byte more is 413, announced or not", async () => {
    expect(await json(`${site}/echo`, { method: "POST", body: new Uint8Array(20 * MIB) })).toMatchObject({
      size: 20 * MIB,
    });
    const announced = await fetch(`${site}/echo`, { method: "POST", body: new Uint8Array(20 * MIB + 1) });
    expect([announced.status, await announced.json()]).toEqual([
      413,
      { code: "BodyTooLarge", message: "The body is larger than 20971520 bytes." },
    ]);
    const status = await new Promise((resolve, reject) => {
      const sent = httpRequest(`${site}/echo`, { method: "POST" }, (response) => {
        response.resume();
        resolve(response.statusCode);
      });
      // The server hangs up once it has answered; what is still being sent then fails.
      sent.on("error", (error: NodeJS.ErrnoException) => {
        if (error.code !== "EPIPE" && error.code !== "ECONNRESET") reject(error);
      });
      sent.write(Buffer.alloc(20 * MIB));
      sent.end(Buffer.alloc(1));
    });
    expect(status).toBe(413);
    expect(await json(`${site}/echo`)).toMatchObject({ size: 0 });
  });

  test("an answer that breaks off is cut off, not ended as if it were whole", async () => {
    const response = await fetch(`${site}/breaks-off`);
    await expect(response.text()).rejects.toThrow(/terminated/);
    expect(reports.join("\n")).toContain("no more");
    expect(await json(`${site}/echo`)).toMatchObject({ size: 0 });
  });
});

describe("a handler that throws", () => {
  const fails = async (body: string) => {
    const response = await fetch(`${site}/fails`, { method: "POST", body });
    return {
      status: response.status,
      body: (await response.json()) as { code: string; trace: string; data?: unknown },
    };
  };

  test("is 500 with the request, the error and where it was thrown, and no secret", async () => {
    const { status, body } = await fails("plain");
    expect(status).toBe(500);
    expect(body.code).toMatch(
      /^\[Request ID: \w+\] Server Error: Uncaught TypeError: plain failure with \[redacted\]$/,
    );
    expect(body.trace).toMatch(/^Uncaught TypeError: .*\n {4}at .*http\.ts:\d+:\d+/);
    expect(Object.keys(body)).toEqual(["code", "trace"]);
    expect(reports.at(-1)).toBe("POST /fails: Uncaught TypeError: plain failure with [redacted]");
  });

  test("gives the data of a ConvexError", async () => {
    expect((await fails("data")).body.data).toEqual({ code: "refused", big: { $integer: "BQAAAAAAAAA=" } });
  });

  test("may not answer with a body that was read before", async () => {
    expect(await fails("used")).toMatchObject({ status: 500, body: { code: "InternalServerError" } });
  });

  test("may not answer with something else than a Response", async () => {
    expect((await fails("nothing")).body.code).toMatch(/returned no Response/);
  });
});

describe("the engine as a process", () => {
  const inFolder = async (work: (args: Record<string, string>) => Promise<void>): Promise<void> => {
    const folder = mkdtempSync(join(tmpdir(), "http-actions-"));
    try {
      const functions = join(HERE, "site-functions");
      await work({ "data-file": join(folder, "data.sqlite"), functions });
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  };

  test("serves HTTP actions on --site-port and tells functions so; a port in use is named", async () => {
    await inFolder(async (args) => {
      const port = await freePort();
      const env = { KINDE_ISSUER_URL: issuer.url };
      const engine = await startEngineProcess({ ...args, "site-port": `${port}` }, env);
      try {
        const address = `http://127.0.0.1:${port}`;
        expect(engine.output()).toContain(`local-convex HTTP actions on ${address}\n`);
        expect(await text(`${address}/address`)).toEqual([200, address]);
        expect(await text(`${engine.url}/http/address`)).toEqual([200, address]);
        const second = { ...args, "data-file": `${args["data-file"]}.second`, "site-port": `${port}` };
        expect(await runEngineProcess(second, env)).toEqual({
          code: 1,
          stderr: `local-convex: Port ${port} is in use. Choose another with --site-port.\n`,
        });
      } finally {
        await engine.kill();
      }
    });
  });

  test("without --site-port functions are told the path below the main port", async () => {
    await inFolder(async (args) => {
      const port = await freePort();
      const engine = await startEngineProcess({ ...args, port: `${port}` }, { KINDE_ISSUER_URL: issuer.url });
      try {
        expect(await text(`${engine.url}/http/address`)).toEqual([200, `http://127.0.0.1:${port}/http`]);
      } finally {
        await engine.kill();
      }
    });
  });
});

async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve) => {
    probe.listen(0, "127.0.0.1", resolve);
  });
  const { port } = probe.address() as AddressInfo;
  await new Promise((resolve) => {
    probe.close(resolve);
  });
  return port;
}
