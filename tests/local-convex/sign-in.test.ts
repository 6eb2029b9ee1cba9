import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { ConvexHttpClient } from "convex/browser";
import { fetchQuery } from "convex/nextjs";
import { makeFunctionReference } from "convex/server";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";

import { startServer, type RunningServer } from "../../lib/local-convex/server.ts";
import { runEngineProcess, startEngineProcess } from "../helpers/engine-process.ts";
import { localBackend, type LocalBackend } from "../helpers/local-backend.ts";
import { startTestIssuer, type TestIssuer } from "../helpers/test-issuer.ts";

const FUNCTIONS = join(import.meta.dirname, "site-functions");
const ADMIN_KEY = "test|admin-key-of-this-test";
const q = (name: string) => makeFunctionReference<"query">(`who:${name}`);
const m = (name: string) => makeFunctionReference<"mutation">(`who:${name}`);
const a = (name: string) => makeFunctionReference<"action">(`who:${name}`);

let issuer: TestIssuer;
let backend: LocalBackend;
let server: RunningServer;
let url: string;
let token: string;

beforeAll(async () => {
  issuer = await startTestIssuer();
  backend = await localBackend({ functionsDir: FUNCTIONS, env: { KINDE_ISSUER_URL: issuer.url } });
  server = await startServer(backend.engine, { host: "127.0.0.1", port: 0, adminKey: ADMIN_KEY });
  url = `http://127.0.0.1:${server.port}`;
});

beforeEach(async () => {
  token = await issuer.sign({ email: "zoe@example.org", given_name: "Zoë" });
});

afterAll(async () => {
  await server.close();
  await backend.close();
  await issuer.close();
});

const client = (): ConvexHttpClient => {
  const made = new ConvexHttpClient(url);
  made.setAuth(token);
  return made;
};

interface Body {
  status?: string;
  value?: { subject: string };
}

async function call(path: string, body: unknown, headers: Record<string, string>) {
  const response = await fetch(url + path, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
  return { status: response.status, body: (await response.json()) as Body, headers: response.headers };
}

const WHO = { path: "who:identity", args: {} };

describe("a user's token", () => {
  test("tells queries and mutations who calls", async () => {
    const identity = {
      issuer: issuer.url,
      subject: "kp_1",
      tokenIdentifier: `${issuer.url}|kp_1`,
      email: "zoe@example.org",
      givenName: "Zoë",
    };
    expect(await client().query(q("identity"), {})).toEqual(identity);
    expect(await client().mutation(m("identityInMutation"), {})).toEqual(identity);
    expect(await fetchQuery(q("identity"), {}, { url, token })).toEqual(identity);
    expect(await new ConvexHttpClient(url).query(q("identity"), {})).toBeNull();
  });

  test("reaches nested calls of mutations and of actions", async () => {
    const mutation = { own: "kp_1", query: "kp_1", mutation: "kp_1" };
    expect(await client().mutation(m("inMutation"), {})).toEqual(mutation);
    expect(await client().action(a("inAction"), {})).toEqual({
      own: "kp_1",
      query: "kp_1",
      action: "kp_1",
      mutation,
    });
  });

  test("does not reach what is scheduled", async () => {
    await client().mutation(m("scheduleFromMutation"), {});
    await client().action(a("scheduleFromAction"), {});
    await backend.advanceMs(0);
    const seen = await backend.query<string[]>("who:seen");
    expect(seen.toSorted()).toEqual(["action as null: null", "from action: null", "mutation: null"]);
  });

  test("does not make internal functions callable", async () => {
    await expect(client().query(q("innerQuery"), {})).rejects.toThrow(/Could not find public function/);
  });

  test.each(["/api/query", "/api/mutation", "/api/action", "/api/function", "/api/run/who/identity"])(
    "that has expired is 401 on %s, not an anonymous call",
    async (path) => {
      const old = await issuer.sign({ exp: Math.floor(Date.now() / 1_000) - 1 });
      const answer = await call(path, WHO, { authorization: `Bearer ${old}` });
      expect(answer).toMatchObject({
        status: 401,
        body: {
          code: "Unauthenticated",
          message: "Could not verify OIDC token claim. The token has expired.",
        },
      });
    },
  );

  test("is refused for a batch and for GET as well", async () => {
    const authorization = "Bearer a.b.c";
    expect((await call("/api/query_batch", { queries: [WHO] }, { authorization })).status).toBe(401);
    const get = await fetch(`${url}/api/query?path=who:identity&args={}`, { headers: { authorization } });
    expect(get.status).toBe(401);
  });

  test("a header of another kind is 401", async () => {
    const answer = await call("/api/query", WHO, { authorization: "Basic eDp5" });
    expect(answer).toMatchObject({ status: 401, body: { code: "InvalidAuthHeader" } });
    expect((await call("/api/query", WHO, { authorization: "Bearer" })).status).toBe(401);
  });

  test("the scheme may be written in small letters", async () => {
    const answer = await call("/api/query", WHO, { authorization: `bearer ${token}` });
    expect(answer.body.value?.subject).toBe("kp_1");
  });
});

describe("the admin key", () => {
  const acting = (attributes: unknown) => Buffer.from(JSON.stringify(attributes)).toString("base64");
  const asUser = { issuer: "https://issuer.example", subject: "kp_9", name: "Zoë" };

  test("acts as a user, and calls internal functions", async () => {
    const admin = new ConvexHttpClient(url) as ConvexHttpClient & {
      setAdminAuth(key: string, as?: object): void;
    };
    admin.setAdminAuth(ADMIN_KEY, asUser);
    expect(await admin.query(q("identity"), {})).toEqual({
      ...asUser,
      tokenIdentifier: "https://issuer.example|kp_9",
    });
    expect(await admin.query(q("innerQuery"), {})).toBe("kp_9");
  });

  test("may carry the type of the deployment in front", async () => {
    for (const key of [`dev:${ADMIN_KEY}`, `prod:${ADMIN_KEY}:${acting(asUser)}`]) {
      const answer = await call("/api/query", WHO, { authorization: `Convex ${key}` });
      expect(answer.body.status).toBe("success");
    }
  });

  test.each<[string, string, number]>([
    ["another key", "wrong", 403],
    ["another key acting as a user", `wrong:${acting(asUser)}`, 403],
    ["no key", "", 401],
    ["acting as nobody", `${ADMIN_KEY}:${acting({ name: "x" })}`, 400],
    ["acting as a list", `${ADMIN_KEY}:${acting([])}`, 400],
    ["acting as something unreadable", `${ADMIN_KEY}:%%%`, 400],
  ])("%s is refused", async (_name, key, status) => {
    const answer = await call("/api/query", WHO, { authorization: `Convex ${key}` });
    expect(answer.status).toBe(status);
    expect(answer.body).toEqual({ code: expect.any(String), message: expect.any(String) });
  });
});

describe("web pages", () => {
  test.each([
    "https://evil.example",
    "http://localhost.evil.example",
    "http://127.0.0.1.evil.example",
    "null",
  ])("of %s are refused, with and without the admin key", async (origin) => {
    for (const headers of [{ origin }, { origin, authorization: `Convex ${ADMIN_KEY}` }]) {
      for (const path of ["/api/query", "/api/function", "/api/query_ts"]) {
        const answer = await call(path, WHO, headers as Record<string, string>);
        expect(answer).toMatchObject({ status: 403, body: { code: "ForbiddenOrigin" } });
        expect(answer.headers.get("access-control-allow-origin")).toBeNull();
      }
    }
    const preflight = await fetch(`${url}/api/query`, { method: "OPTIONS", headers: { origin } });
    expect(preflight.status).toBe(403);
    expect(preflight.headers.get("access-control-allow-origin")).toBeNull();
  });

  test.each(["http://localhost:3000", "http://127.0.0.1:3000", "http://[::1]:3000", "https://localhost"])(
    "of %s are answered and may read the answer",
    async (origin) => {
      const answer = await call("/api/query", WHO, { origin, authorization: `Bearer ${token}` });
      expect(answer.body.value?.subject).toBe("kp_1");
      expect(answer.headers.get("access-control-allow-origin")).toBe(origin);
    },
  );

  test("the admin key cannot be used through an HTTP action either", async () => {
    const headers = { origin: "https://evil.example", authorization: `Convex ${ADMIN_KEY}` };
    expect((await fetch(`${url}/http/who`, { headers })).status).toBe(403);
  });
});

describe("auth.config when the engine starts", () => {
  const inFolder = async <T>(work: (dataFile: string) => Promise<T>): Promise<T> => {
    const folder = mkdtempSync(join(tmpdir(), "sign-in-"));
    try {
      return await work(join(folder, "data.sqlite"));
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  };

  test("an environment variable that is not set ends the start with one line", async () => {
    await expect(localBackend({ functionsDir: FUNCTIONS })).rejects.toMatchObject({
      code: "AuthConfigMissingEnvironmentVariable",
      message: "Environment variable KINDE_ISSUER_URL is used in auth config file but its value was not set",
    });
    const ended = await inFolder((dataFile) => runEngineProcess({ "data-file": dataFile }));
    expect(ended).toEqual({
      code: 1,
      stderr:
        "local-convex: Environment variable KINDE_ISSUER_URL is used in auth config file but its value was not set\n",
    });
  });

  test("a domain that is no URL ends the start", async () => {
    for (const domain of ["", "ftp://files.example", "http://"]) {
      await expect(
        localBackend({ functionsDir: FUNCTIONS, env: { KINDE_ISSUER_URL: domain } }),
      ).rejects.toMatchObject({
        code: "InvalidAuthConfig",
        message: expect.stringMatching(/^providers\[0\]\.domain must be /),
      });
    }
  });

  test("the process hands KINDE variables to the functions and to auth.config", async () => {
    await inFolder(async (dataFile) => {
      const env = { KINDE_ISSUER_URL: issuer.url };
      const engine = await startEngineProcess({ "data-file": dataFile }, env);
      try {
        const made = new ConvexHttpClient(engine.url);
        made.setAuth(token);
        // The token is accepted: what fails is the function's own check of its arguments.
        const health = makeFunctionReference<"query">("health:nothing");
        await expect(made.query(health, {})).rejects.toThrow(/Could not find public function/);
        made.setAuth(await issuer.sign({ aud: "other" }));
        await expect(made.query(health, {})).rejects.toThrow(/No auth provider found/);
      } finally {
        await engine.kill();
      }
    });
  });

  test("the secret of the Kinde client never leaves in a text", async () => {
    const secret = "s3cret-of-the-kinde-client";
    const env = { KINDE_ISSUER_URL: issuer.url, KINDE_M2M_CLIENT_SECRET: secret };
    const other = await localBackend({ functionsDir: FUNCTIONS, env });
    expect(other.engine.runtime.redact(`before ${secret} after`)).toBe("before [redacted] after");
    await other.close();
  });
});
