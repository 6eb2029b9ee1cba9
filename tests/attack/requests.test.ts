import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { text } from "node:stream/consumers";

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";

import { createWebServer, REQUEST_TIMES } from "../../lib/server/node-http.ts";
import { processRedirects } from "../../lib/server/redirect-deps.ts";
import { readAnswers, sendRaw } from "../scripts/raw-http.ts";
import { type Door, openDoor } from "./door.ts";
import { createCustomer, type Customer, openWorld, type World } from "./world.ts";

/** Requests that are too slow, framed in two ways, or that try to put something of theirs into a header. */

let world: World;
let door: Door;
let customer: Customer;
beforeAll(async () => {
  world = await openWorld();
  customer = await createCustomer(world);
  door = await openDoor(world);
});
afterAll(async () => {
  await door.close();
  await world.close();
});

describe("a client that takes for ever", () => {
  let server: Server;
  let port: number;
  beforeEach(async () => {
    const times = { headersTimeout: 100, requestTimeout: 200, connectionsCheckingInterval: 20 };
    server = createWebServer(
      (incoming, outgoing) => void incoming.resume().on("end", () => outgoing.end("ok")),
      times,
    );
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    ({ port } = server.address() as AddressInfo);
  });
  afterEach(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  test.each([
    ["with the first line", "GE"],
    ["with its headers", "GET / HTTP/1.1\r\nHost: localhost\r\nX-A: "],
    ["with its body", "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n"],
    [
      "with the chunks of its body",
      "POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n",
    ],
    ["and sends nothing at all", ""],
  ])("%s is cut off, and others are served meanwhile", async (_name, begin) => {
    const slow = connect({ host: "127.0.0.1", port });
    slow.on("error", () => undefined);
    const ended = once(slow, "close");
    const answer = text(slow.setEncoding("latin1")).catch(() => "");
    slow.write(begin);
    // A byte now and then does not buy more time.
    const drip = setInterval(() => slow.writable && slow.write(begin === "" ? "" : "a"), 20);
    expect(await (await fetch(`http://127.0.0.1:${port}/`)).text()).toBe("ok");
    await ended;
    clearInterval(drip);
    expect(await answer).toMatch(/^(HTTP\/1\.1 (?:408|400) |$)/);
  });

  test("the web process gives ten seconds for the head and thirty for a request", () => {
    const made = createWebServer(() => undefined);
    expect({ head: made.headersTimeout, all: made.requestTimeout }).toEqual({ head: 10_000, all: 30_000 });
    expect(REQUEST_TIMES.connectionsCheckingInterval).toBeLessThanOrEqual(1_000);
    // Engine and emulator listen on this machine alone, and have what Node gives.
    const usual = createServer();
    expect([usual.headersTimeout, usual.requestTimeout]).toEqual([60_000, 300_000]);
  });
});

describe("a request that could be read in two ways is read in none", () => {
  const SMUGGLED = "GET /smuggled HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
  const post = (headers: string, body: string) =>
    `POST /api/v1/jobs HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${customer.secret}\r\nContent-Type: application/json\r\n${headers}\r\n\r\n${body}`;

  test.each<[name: string, headers: string, body: string]>([
    ["two lengths", "Content-Length: 2\r\nContent-Length: 60", "{}"],
    ["two equal lengths", "Content-Length: 2\r\nContent-Length: 2", "{}"],
    ["two lengths in one line", "Content-Length: 2, 60", "{}"],
    ["a length and chunks", "Content-Length: 60\r\nTransfer-Encoding: chunked", "0\r\n\r\n"],
    ["chunks that are not the last encoding", "Transfer-Encoding: chunked, identity", "0\r\n\r\n"],
    ["chunks twice", "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", "0\r\n\r\n"],
    ["an encoding nobody knows", "Transfer-Encoding: xchunked", "0\r\n\r\n"],
    ["a space before the colon", "Transfer-Encoding : chunked\r\nContent-Length: 2", "{}"],
    ["a folded header", "Transfer-Encoding:\r\n chunked\r\nContent-Length: 2", "{}"],
    ["a length with a sign", "Content-Length: +2", "{}"],
    ["a length below nothing", "Content-Length: -1", "{}"],
    ["a length in hexadecimal", "Content-Length: 0x2", "{}"],
    ["a length beyond all numbers", `Content-Length: ${"9".repeat(40)}`, "{}"],
    ["a chunk with a sign", "Transfer-Encoding: chunked", "-2\r\n{}\r\n0\r\n\r\n"],
    ["a chunk beyond all numbers", "Transfer-Encoding: chunked", `${"f".repeat(17)}\r\n{}`],
    ["a chunk longer than it says", "Transfer-Encoding: chunked", "1\r\n{}\r\n0\r\n\r\n"],
    ["a bare line feed in the head", "X-A: 1\nTransfer-Encoding: chunked\r\nContent-Length: 2", "{}"],
    ["a NUL in a header", "X-A: a\u0000b\r\nContent-Length: 2", "{}"],
  ])("%s", async (_name, headers, body) => {
    const stream = await sendRaw(door.port, post(headers, body) + SMUGGLED);
    const [first, ...rest] = readAnswers(stream);
    expect(first?.status).toBe(400);
    expect(rest).toEqual([]);
    expect(door.passedOn).not.toContain("GET /smuggled");
  });

  test("a header after the chunks opens no door", async () => {
    const head = "POST /api/v1/jobs/preview HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n";
    const framed =
      "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\nTrailer: Authorization\r\n\r\n";
    const body = `b\r\n{"units":1}\r\n0\r\nAuthorization: Bearer ${customer.secret}\r\n\r\n`;
    expect(readAnswers(await sendRaw(door.port, head + framed + body))).toMatchObject([{ status: 401 }]);
  });

  test.each([
    ["a tunnel", "CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n"],
    ["an unknown version", "GET / HTTP/3.9\r\nHost: localhost\r\n\r\n"],
    ["HTTP/2 without a word of it before", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"],
    ["a NUL in the target", "GET /api/v1/usage\u0000 HTTP/1.1\r\nHost: localhost\r\n\r\n"],
  ])("%s is refused or not answered at all", async (_name, bytes) => {
    const stream = await sendRaw(door.port, bytes);
    expect(stream === "" || stream.startsWith("HTTP/1.1 400 ")).toBe(true);
  });

  test("a target that names another host asks for nothing there, and is no API call here", async () => {
    const before = door.passedOn.length;
    const bytes = `GET http://evil.example/api/v1/usage HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${customer.secret}\r\nConnection: close\r\n\r\n`;
    expect(readAnswers(await sendRaw(door.port, bytes))).toMatchObject([{ status: 404 }]);
    expect(door.passedOn.slice(before)).toEqual([]);
  });
});

describe("nothing that somebody typed gets into a header", () => {
  const LINE = "\r\nSet-Cookie: stolen=1";
  const api = (path: string, body: object, method = "POST") =>
    door.ask("192.0.2.1", `/api/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${customer.secret}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    });

  test.each([
    `https://example.com/${LINE}`,
    `https://example.com${LINE}/`,
    `${LINE}https://example.com/`,
    "https://example.com/\u0000",
    "https://example.com/\u2028",
    "https://exa\u00admple.com/\t",
  ])("the target %j is refused, or leads on with nothing of it left", async (target) => {
    const made = await api("/links", { target });
    expect([201, 400]).toContain(made.status);
    const code = made.status === 201 ? ((await made.json()) as { link: { code: string } }).link.code : "x";
    const followed = await door.ask("192.0.2.1", `/${code}`);
    expect(followed.headers.get("set-cookie")).toBeNull();
    // eslint-disable-next-line no-control-regex -- the point of the pattern
    expect(followed.headers.get("location") ?? "").not.toMatch(/[^\x21-\x7e]/);
  });

  test.each([
    ["javascript:", "javascript:alert(1)"],
    ["javascript: behind a space", " javascript:alert(1)"],
    ["javascript: in capitals with a tab", "JaVa\tScript:alert(1)"],
    ["data:", "data:text/html,<script>alert(1)</script>"],
    ["vbscript:", "vbscript:x"],
    ["file:", "file:///etc/passwd"],
    ["blob:", "blob:https://example.com/x"],
    ["no scheme", "//evil.example/"],
    ["backslashes", "\\\\evil.example"],
    ["a user name that looks like a host", "https://bank.example@evil.example/"],
    ["this very site", "https://hold.example/app"],
  ])("no short link leads to %s", async (_name, target) => {
    expect((await api("/links", { target })).status).toBe(400);
    expect((await api(`/links/${customer.ids["linkId"]}`, { target }, "PATCH")).status).toBe(400);
    expect(
      (await api("/links", { target: "https://example.com/", capUnits: 1, overCapTarget: target })).status,
    ).toBe(400);
  });

  test.each([
    "https://example.com/\r\nSet-Cookie: stolen=1",
    "javascript:alert(1)",
    "https://example.com/\u00e9",
  ])("a stored target that should not be there (%j) is not followed", async (location) => {
    const owner = await createCustomer(world);
    await world.backend.patchRow(owner.ids["linkId"]!, { location });
    const followed = await door.ask("192.0.2.1", `/${owner.ids["code"]}`);
    expect([followed.status, followed.headers.get("location"), followed.headers.get("set-cookie")]).toEqual([
      410,
      null,
      null,
    ]);
  });

  test("texts that lists and logs show hold no control characters", async () => {
    const hostile = ["a\r\nb", "a\u0000b", "a\u001b[31mb", "\ud800"];
    for (const bad of hostile) {
      expect((await api("/jobs", { key: bad, units: 1 })).status).toBe(400);
      expect((await api("/jobs", { key: "k", units: 1, kind: bad })).status).toBe(400);
      expect((await api("/links", { target: "https://example.com/", title: bad })).status).toBe(400);
      expect((await api("/links", { target: "https://example.com/", code: bad })).status).toBe(400);
    }
  });

  test("the name of an export file is made from what the server knows", async () => {
    const headers = { authorization: `Bearer ${customer.secret}` };
    const file = await door.ask("192.0.2.1", "/api/v1/usage/entries?format=csv", { headers });
    expect(file.headers.get("content-disposition")).toMatch(/^attachment; filename="usage-\d{4}-\d\d\.csv"$/);
    const bent = encodeURIComponent('2026-10"\r\nX: y');
    const refused = await door.ask("192.0.2.1", `/api/v1/usage/entries?format=csv&cycle=${bent}`, {
      headers,
    });
    expect(refused.status).toBe(400);
  });
});

describe("a code is followed as it is spelt, or not at all", () => {
  test.each([
    ["percent signs around it", (code: string) => `%20${code}`],
    ["a NUL behind it", (code: string) => `${code}%00`],
    ["a line feed behind it", (code: string) => `${code}%0a`],
    ["a full-width letter", (code: string) => `%EF%BD%81${code.slice(1)}`],
    ["a Cyrillic letter", (code: string) => `%D0%B0${code.slice(1)}`],
    ["a zero-width space", (code: string) => `${code}%E2%80%8B`],
    ["a right-to-left override", (code: string) => `%E2%80%AE${code}`],
    ["a combining mark", (code: string) => `${code}%CC%81`],
    ["an overlong encoding", (code: string) => `%C0%80${code}`],
    ["a percent sign that encodes a percent sign", (code: string) => `%25${code}`],
    ["a folder behind it", (code: string) => `${code}/`],
    ["capital letters", (code: string) => code.toUpperCase()],
  ])("%s is another one", async (_name, spell) => {
    const { code } = customer.ids;
    const url = `http://localhost/${spell(code!)}`;
    const answer = await processRedirects().handle({ method: "GET", url, headers: { get: () => null } });
    expect(answer.status).toBe(404);
    expect(answer.headers).not.toHaveProperty("location");
  });
});

describe("a body of the API", () => {
  const send = (body: BodyInit, type = "application/json") =>
    door.ask("192.0.2.2", "/api/v1/jobs", {
      method: "POST",
      headers: { authorization: `Bearer ${customer.secret}`, "content-type": type },
      body,
    });
  const deep = (open: string, close: string, depth: number) => open.repeat(depth) + close.repeat(depth);

  test.each<[string, BodyInit, string?]>([
    ["of arrays 30,000 deep", deep("[", "]", 30_000)],
    ["of objects 10,000 deep", `${'{"a":'.repeat(10_000)}1${"}".repeat(10_000)}`],
    ["with a deep field", `{"key":${deep("[", "]", 20_000)},"units":1}`],
    ["with a field twice, the second one wrong", '{"key":"k","units":1,"units":"x"}'],
    ["with __proto__", '{"key":"k","units":1,"__proto__":{"isAdmin":true}}'],
    ["with constructor", '{"key":"k","units":1,"constructor":{"prototype":{}}}'],
    [
      "of 5,000 unknown fields",
      JSON.stringify(Object.fromEntries(Array.from({ length: 5_000 }, (_, i) => [`f${i}`, 1]))),
    ],
    ["with a number of 60,000 digits", `{"key":"k","units":${"9".repeat(60_000)}}`],
    ["that is a form", "key=k&units=1", "application/x-www-form-urlencoded"],
    ["that is text", '{"key":"k","units":1}', "text/plain"],
    ["of many parts", '--x\r\n\r\n{"key":"k"}\r\n--x--', "multipart/form-data; boundary=x"],
    ["whose type only begins like JSON", '{"key":"k","units":1}', "application/jsonp"],
    ["in UTF-16", Buffer.from('{"key":"k","units":1}', "utf16le")],
    ["with a byte order mark and nothing", "\ufeff"],
  ])("%s is a 400", async (_name, body, type) => {
    const answer = await send(body, type);
    expect(answer.status).toBe(400);
    expect((await answer.text()).length).toBeLessThan(8_192);
  });

  test("was no job, and changed nothing for anybody", async () => {
    expect(({} as { isAdmin?: boolean }).isAdmin).toBeUndefined();
    const answer = await send('{"key":"last","units":1}');
    expect(answer.status).toBe(201);
  });
});
