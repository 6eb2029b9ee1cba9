import { request as httpRequest } from "node:http";
import { join } from "node:path";

import { ConvexHttpClient } from "convex/browser";
import { fetchMutation, fetchQuery } from "convex/nextjs";
import { makeFunctionReference } from "convex/server";
import { ConvexError } from "convex/values";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { startServer, type RunningServer } from "../../lib/local-convex/server.ts";
import { localBackend, type LocalBackend } from "../helpers/local-backend.ts";

const ADMIN_KEY = "admin-key-of-this-test";
const q = (name: string) => makeFunctionReference<"query">(name);
const m = (name: string) => makeFunctionReference<"mutation">(name);

let backend: LocalBackend;
let server: RunningServer;
let url: string;
let client: ConvexHttpClient;

beforeAll(async () => {
  backend = await localBackend({ functionsDir: join(import.meta.dirname, "..", "contract", "functions") });
  server = await startServer(backend.engine, { host: "127.0.0.1", port: 0, adminKey: ADMIN_KEY });
  url = `http://127.0.0.1:${server.port}`;
  client = new ConvexHttpClient(url);
});

afterAll(async () => {
  await server.close();
  await backend.close();
});

interface Body {
  status?: string;
  value?: unknown;
  errorData?: unknown;
  ts?: string;
  results?: Body[];
}

interface Answer {
  status: number;
  headers: Headers;
  body: Body;
}

async function post(path: string, body: unknown, headers: Record<string, string> = {}): Promise<Answer> {
  const response = await fetch(url + path, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
  return { status: response.status, headers: response.headers, body: (await response.json()) as Body };
}

const encoded = (path: string, args: object = {}) => ({ path, format: "convex_encoded_json", args: [args] });

describe("the official clients", () => {
  test("ConvexHttpClient runs queries, mutations and actions with values of every type", async () => {
    const value = {
      int: 5n,
      bytes: new Uint8Array([1, 255]).buffer,
      float: -0,
      text: "a😀",
      list: [null, true],
    };
    expect(await client.query(q("guards:echo"), { value })).toEqual(value);
    expect((await client.mutation(m("guards:store"), { value: 7n })).value).toBe(7n);
    const mixed = await client.action(makeFunctionReference<"action">("calls:actionMix"), {});
    expect(mixed.data).toEqual({ code: "refused", big: 5n, b: "lost" });
  });

  test("a ConvexError arrives with its data, any other failure as Error with its text", async () => {
    const data = { code: "x", big: 9n };
    const failed: unknown = await client
      .mutation(m("calls:failWithData"), { data })
      .catch((error: unknown) => error);
    expect(failed).toBeInstanceOf(ConvexError);
    expect((failed as ConvexError<typeof data>).data).toEqual(data);
    const plain = client.query(q("calls:failPlain"), {});
    await expect(plain).rejects.toThrow(
      /^\[Request ID: \w+\] Server Error\nUncaught TypeError: plain failure\n {4}at handler/,
    );
    await expect(plain).rejects.not.toBeInstanceOf(ConvexError);
  });

  test("arguments that break their validator are an answer, not a broken request", async () => {
    await expect(client.query(q("calls:strictArgs"), { kind: "a" })).rejects.toThrow(
      /Server Error\nArgumentValidationError: Object is missing the required field `name`/,
    );
    await expect(client.query(q("calls:wrongReturn"), {})).rejects.toThrow(
      /Server Error\nReturnsValidationError: /,
    );
  });

  test("internal functions are hidden, and the text does not tell", async () => {
    for (const name of ["calls:hiddenCount", "calls:nothing"]) {
      await expect(client.query(q(name), {})).rejects.toThrow(
        `Could not find public function for '${name}'.`,
      );
    }
    await expect(client.query(q("nothing"), {})).rejects.toThrow(
      "Could not find public function for 'nothing'.",
    );
  });

  test("the wrong kind is named", async () => {
    await expect(client.mutation(m("calls:count"), {})).rejects.toThrow(
      "Trying to execute calls.js:count as Mutation, but it is defined as Query.",
    );
  });

  test("the default export is called by its file", async () => {
    expect(await client.query(q("calls"), {})).toBe("the default export");
  });

  test("consistentQuery works", async () => {
    expect(await client.consistentQuery(q("calls:identity"), {})).toBeNull();
  });

  test("fetchQuery and fetchMutation of convex/nextjs work", async () => {
    await fetchMutation(m("documents:insert"), { value: { a: "by next" } }, { url });
    expect(await fetchQuery(q("guards:echo"), { value: [1n] }, { url })).toEqual([1n]);
  });

  test("a URL that ends in a slash works", async () => {
    expect(await fetchQuery(q("guards:echo"), { value: 1 }, { url: `${url}/` })).toBe(1);
  });
});

describe("the plain HTTP API", () => {
  test("a function that fails is 200 with status error; errorData only for a ConvexError", async () => {
    const plain = await post("/api/query", encoded("calls:failPlain"));
    expect(plain.status).toBe(200);
    expect(plain.body).toMatchObject({
      status: "error",
      errorMessage: expect.stringContaining("plain failure"),
    });
    expect(Object.keys(plain.body)).not.toContain("errorData");
    const data = await post(
      "/api/mutation",
      encoded("calls:failWithData", { data: { $integer: "BQAAAAAAAAA=" } }),
    );
    expect(data.body.errorData).toEqual({ $integer: "BQAAAAAAAAA=" });
  });

  test("returning nothing is null, log lines are left out when there are none", async () => {
    const { body } = await post("/api/mutation", encoded("calls:returnsNothing"));
    expect(body).toEqual({ status: "success", value: null });
  });

  test("format json is the lossy form, and the default of these routes", async () => {
    const value = { int: { $integer: "BQAAAAAAAAA=" }, bytes: { $bytes: "AP8=" } };
    const { body } = await post("/api/query", { path: "guards:echo", args: { value } });
    expect(body.value).toEqual({ int: "5", bytes: "AP8=" });
    const run = await post("/api/run/guards/echo", { args: { value } });
    expect(run.body.value).toEqual({ int: "5", bytes: "AP8=" });
    const got = await fetch(
      `${url}/api/query?path=guards:echo&args=${encodeURIComponent(JSON.stringify({ value }))}`,
    );
    expect(((await got.json()) as Body).value).toEqual({ int: "5", bytes: "AP8=" });
  });

  test("query_ts gives a timestamp that query_at_ts accepts", async () => {
    const { body } = await post("/api/query_ts", "");
    expect(Buffer.from(body.ts!, "base64")).toHaveLength(8);
    const answer = await post("/api/query_at_ts", { ...encoded("calls:identity"), ts: body.ts });
    expect(answer.body.status).toBe("success");
  });

  test("query_batch answers all of its queries, failures among them", async () => {
    const { body } = await post("/api/query_batch", {
      queries: [encoded("guards:echo", { value: 1 }), encoded("calls:failPlain"), encoded("calls:identity")],
    });
    expect(body.results!.map((each) => each.status)).toEqual(["success", "error", "success"]);
  });

  test("/api/function runs any kind; the admin key reaches internal functions, a wrong key is refused", async () => {
    const call = { path: "calls:hiddenCount", args: {} };
    const admin = await post("/api/function", call, { authorization: `Convex ${ADMIN_KEY}` });
    expect(admin.body.status).toBe("success");
    expect((await post("/api/function", call)).body.status).toBe("error");
    expect((await post("/api/function", call, { authorization: "Convex wrong" })).status).toBe(403);
    expect((await post("/api/query", call, { authorization: "Bearer a.b.c" })).status).toBe(401);
  });

  const BAD: [name: string, path: string, body: unknown, status: number][] = [
    ["malformed JSON", "/api/query", "{", 400],
    ["an empty body", "/api/query", "", 400],
    ["an array", "/api/query", [], 400],
    ["null", "/api/query", "null", 400],
    ["no path", "/api/query", { args: {} }, 400],
    ["a path that is no text", "/api/query", { path: 5, args: {} }, 400],
    ["an unknown format", "/api/query", { path: "calls", format: "xml" }, 400],
    ["arguments that are text", "/api/query", { path: "calls", args: "x" }, 400],
    ["a batch that is null", "/api/query_batch", "null", 400],
    ["a batch of numbers", "/api/query_batch", { queries: [1] }, 400],
    ["an unknown route", "/api/nothing", {}, 404],
  ];
  test.each(BAD)("%s is refused with a code and a message", async (_name, path, body, status) => {
    const answer = await post(path, body);
    expect(answer.status).toBe(status);
    expect(answer.body).toEqual({ code: expect.any(String), message: expect.any(String) });
  });

  test("arguments with a broken encoding are an error of the call", async () => {
    const { status, body } = await post("/api/query", encoded("guards:echo", { value: { $integer: "x" } }));
    expect(status).toBe(200);
    expect(body).toMatchObject({ status: "error", errorMessage: expect.stringContaining("$integer") });
  });

  test("a body of more than 17 MiB is 413, and the next request works", async () => {
    const answer = await post("/api/query", encoded("guards:echo", { value: "x".repeat(18 * 1024 * 1024) }));
    expect(answer.status).toBe(413);
    expect((await post("/api/query", encoded("calls:identity"))).body.status).toBe("success");
  });

  test("CORS mirrors the origin and answers the preflight", async () => {
    const preflight = await fetch(`${url}/api/query`, {
      method: "OPTIONS",
      headers: {
        origin: "http://localhost:3000",
        "access-control-request-headers": "content-type,convex-client",
      },
    });
    expect(preflight.status).toBe(204);
    expect(Object.fromEntries(preflight.headers)).toMatchObject({
      "access-control-allow-origin": "http://localhost:3000",
      "access-control-allow-credentials": "true",
      "access-control-allow-headers": "content-type,convex-client",
      "access-control-allow-methods": "GET, POST, OPTIONS, PATCH, DELETE, PUT",
      "access-control-max-age": "86400",
    });
    const answer = await post("/api/query", encoded("calls:identity"), { origin: "http://localhost:3000" });
    expect(answer.headers.get("access-control-allow-origin")).toBe("http://localhost:3000");
  });

  test("only requests to a loopback host are answered", async () => {
    const statusFor = (host: string): Promise<number> =>
      new Promise((resolve, reject) => {
        const call = httpRequest(
          { port: server.port, host: "127.0.0.1", path: "/version", headers: { host } },
          (answer) => {
            answer.resume();
            resolve(answer.statusCode!);
          },
        );
        call.on("error", reject);
        call.end();
      });
    expect(await statusFor("evil.example")).toBe(403);
    expect(await statusFor("127.0.0.1.evil.example")).toBe(403);
    expect(await statusFor("localhost:3210")).toBe(200);
    expect(await statusFor("[::1]:3210")).toBe(200);
  });

  test.each(["/", "/version", "/instance_name"])("GET %s is plain text", async (path) => {
    const response = await fetch(url + path);
    expect([response.status, response.headers.get("content-type")]).toEqual([200, "text/plain"]);
  });
});
