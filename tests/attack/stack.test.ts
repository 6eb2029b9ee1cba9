import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { request as httpRequest } from "node:http";
import { connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { createApiClient, mustCall } from "../../scripts/support/api-client.mjs";
import { openSecrets } from "../../scripts/support/secrets.ts";
import { backupKeyOf } from "../../scripts/support/stack.ts";
import { startTempStack, type TempStack } from "../../scripts/support/temp-stack.ts";
import { Browser, signUpOverHttp } from "./browser.ts";

/** The processes of `npm start` as an attacker on the network, or a page in somebody's browser, meets them. */
const TIMEOUT_MS = 10 * 60_000;

let dataDir = "";
let stack: TempStack;
let customer: Browser;
let operator: Browser;
let apiKey = "";
let link: { readonly id: string; readonly code: string };
/** Begun before everything else: a request whose head never ends. */
let slow: Socket;
let slowEnded: Promise<unknown>;
let slowAnswer = "";

const ALERT_SECRET = `whsec_${Buffer.from("planted-alert-secret-0123456789ab").toString("base64")}`;

beforeAll(async () => {
  dataDir = mkdtempSync(join(tmpdir(), "holdfast-attack-"));
  // Nobody listens there, so that what fails on the way to it is logged.
  const env = { HOLDFAST_ALERT_URL: "http://127.0.0.1:9/alert", HOLDFAST_ALERT_SECRET: ALERT_SECRET };
  stack = await startTempStack(join(dataDir, "data"), { env });
  slow = connect({ host: "127.0.0.1", port: stack.ports.port });
  slow.on("error", () => undefined).on("data", (data) => (slowAnswer += data.toString("latin1")));
  slowEnded = once(slow, "close");
  slow.write("GET /api/health HTTP/1.1\r\nHost: localhost\r\nX-Slow: ");
  customer = await signUpOverHttp(stack.siteUrl, { email: "ada@example.org" });
  operator = await signUpOverHttp(stack.siteUrl, { email: "op@example.org", isOperator: true }, "/ops");
  const client = createApiClient({ url: stack.url, connections: 1, timeoutMs: 30_000 });
  const post = (path: string, body: object, token: string) =>
    mustCall(client, { method: "POST", path, token, body });
  const { account } = await post("/accounts", { name: "attacked", limitUnits: 1_000 }, stack.operatorKey);
  apiKey = (await post(`/accounts/${account.id}/keys`, {}, stack.operatorKey)).secret;
  ({ link } = await post("/links", { target: "https://example.com/" }, apiKey));
  client.close();
}, TIMEOUT_MS);
afterAll(async () => {
  slow?.destroy();
  await stack?.stop();
  rmSync(dataDir, { recursive: true, force: true });
});

const APP = join(import.meta.dirname, "../../app");
/** Every page of app/, with something in the place of each id, and one that is not there. */
const pages = [
  ...readdirSync(APP, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith("page.tsx"))
    .map((name) => `/${name.slice(0, -"page.tsx".length)}`)
    .map((path) =>
      path
        .replace(/\([^)]*\)\//g, "")
        .replace(/\[\w+\]/g, "x1")
        .replace(/(.)\/$/, "$1"),
    ),
  "/no/such/page",
];

interface Policy {
  readonly scripts: string;
  readonly text: string;
}

function policyOf(headers: Headers): Policy {
  const text = headers.get("content-security-policy") ?? "";
  const parts = new Map(text.split(";").map((part) => [part.trim().split(" ")[0], part.trim()] as const));
  return { text, scripts: parts.get("script-src") ?? parts.get("default-src") ?? "" };
}

function expectProtected(headers: Headers): void {
  const { scripts, text } = policyOf(headers);
  expect(scripts).not.toBe("");
  expect(scripts).not.toMatch(/unsafe-inline|unsafe-eval|\*|https?:|data:/);
  expect(text).toMatch(/frame-ancestors 'none'/);
  expect(text).toMatch(/base-uri '(?:self|none)'/);
  expect(text).toMatch(/form-action '(?:self|none)'/);
  expect(headers.get("x-content-type-options")).toBe("nosniff");
}

describe("no page runs a script that is not this site's, and none can be framed", () => {
  test.each(pages)("%s", async (path) => {
    const browser = path.startsWith("/ops") ? operator : customer;
    const first = await browser.ask(`${stack.siteUrl}${path}`);
    const second = await browser.ask(`${stack.siteUrl}${path}`);
    expect([200, 404]).toContain(first.status);
    expectProtected(first.headers);
    expect(first.headers.get("x-frame-options")).toBe("DENY");
    const nonce = /'nonce-([^']+)'/.exec(policyOf(first.headers).scripts)?.[1] ?? "";
    expect(nonce).toMatch(/^[A-Za-z0-9+/]{22}==$/);
    expect(second.headers.get("content-security-policy")).not.toContain(nonce);
    expect(first.headers.get("cache-control")).toMatch(/no-store/);
    const tags = first.text.match(/<script\b[^>]*>/g) ?? [];
    expect(tags.length).toBeGreaterThan(0);
    expect(tags.filter((tag) => !tag.includes(`nonce="${nonce}"`))).toEqual([]);
    expect(first.text).not.toMatch(/\son(?:click|load|error)=/);
  });

  test.each([
    ["the page of no link", "/nobody-has-this", 404],
    ["an answer of the API", "/api/v1/openapi.json", 200],
    ["a refusal of the API", "/api/v1/usage", 401],
    ["the health check", "/api/health", 200],
    ["the icon", "/icon.svg", 200],
    ["what a screen says to somebody else", "/ops", 403],
  ])("%s", async (_name, path, status) => {
    const answer = await customer.ask(`${stack.siteUrl}${path}`);
    expect(answer.status).toBe(status);
    expectProtected(answer.headers);
  });

  test("the pages of the emulator run none at all", async () => {
    const page = await new Browser().visit(`${stack.siteUrl}/app`);
    expect(new URL(page.url).host).toBe(new URL(stack.kindeUrl).host);
    expect(policyOf(page.headers).scripts).toBe("default-src 'none'");
    expect(policyOf(page.headers).text).toContain("frame-ancestors 'none'");
    expect(page.text).not.toMatch(/<script/);
  });

  test("the cookies of a session are read by no script and sent along by no other site's form", () => {
    const tokens = customer.cookieLines.filter((line) => /token/i.test(line.split("=")[0]!));
    expect(tokens.length).toBeGreaterThan(1);
    expect(
      tokens.filter((line) => !/;\s*httponly/i.test(line) || !/;\s*samesite=(?:lax|strict)/i.test(line)),
    ).toEqual([]);
  });
});

describe("a page of another site", () => {
  const FOREIGN: [name: string, headers: Record<string, string>][] = [
    ["that the browser names", { "sec-fetch-site": "cross-site", origin: "https://evil.example" }],
    ["of the same registered name", { "sec-fetch-site": "same-site", origin: "http://localhost:1" }],
    ["of a browser that only sends its origin", { origin: "https://evil.example" }],
    ["without an origin", { origin: "null" }],
  ];

  test.each(FOREIGN)("%s gets no token, no rows, no fault switch", async (_name, headers) => {
    const ask = (browser: Browser, path: string, method = "GET", body: string | null = null) =>
      browser.ask(`${stack.siteUrl}${path}`, { method, headers, body });
    for (const path of ["/usage/entries", `/links/${link.id}/qr.svg`]) {
      expect((await ask(customer, `/api/v1${path}`)).status).toBe(403);
    }
    const token = await ask(customer, "/api/session", "POST", '{"force":true}');
    expect([token.status, token.text.includes("eyJ")]).toEqual([403, false]);
    const fault = '{"offer":"meter_429","span":"next"}';
    for (const [method, body] of [
      ["GET", null],
      ["POST", fault],
      ["DELETE", null],
    ] as const) {
      expect((await ask(operator, "/ops/faults/control", method, body)).status).toBe(403);
    }
    const cookies = customer.cookiesOf(stack.siteUrl).size;
    const out = await ask(customer, "/api/auth/logout");
    expect(out.status).toBe(307);
    expect(new URL(out.headers.get("location")!, out.url).href).toBe(`${stack.siteUrl}/`);
    expect(customer.cookiesOf(stack.siteUrl).size).toBe(cookies);
    const change = await ask(customer, "/app/plan/change");
    expect(change.headers.get("location")).toBe(`${stack.siteUrl}/app/plan`);
    for (const answer of [token, out, change]) {
      expect(answer.headers.get("access-control-allow-origin")).toBeNull();
    }
  });

  test("of this site gets all of it: the same requests, from here", async () => {
    const headers = { "sec-fetch-site": "same-origin", origin: stack.siteUrl };
    const entries = await customer.ask(`${stack.siteUrl}/api/v1/usage/entries`, { headers });
    expect(entries.status).toBe(200);
    const token = await customer.ask(`${stack.siteUrl}/api/session`, { method: "POST", headers, body: "{}" });
    expect(token.text).toContain("eyJ");
    expect((await operator.ask(`${stack.siteUrl}/ops/faults/control`, { headers })).status).toBe(200);
    const change = await customer.ask(`${stack.siteUrl}/app/plan/change`, { headers });
    expect(change.headers.get("location")).toContain("/api/auth/portal");
  });
});

describe("a name that an attacker points at this machine", () => {
  function askAs(
    host: string,
    url: string,
    path: string,
    headers: Record<string, string> = {},
  ): Promise<number> {
    const { hostname, port } = new URL(url);
    return new Promise((resolve, reject) => {
      const sent = httpRequest({ hostname, port, path, headers: { host, ...headers } }, (answer) => {
        answer.resume();
        resolve(answer.statusCode ?? 0);
      });
      sent.on("error", reject);
      sent.end();
    });
  }
  const HOSTS = [
    "evil.example",
    "evil.example:80",
    "localhost.evil.example",
    "127.0.0.1.evil.example",
    "127.0.0.256",
    "0.0.0.0",
  ];

  test.each(HOSTS)(
    "%j reaches neither the engine nor the emulator, with no key in the world",
    async (host) => {
      for (const path of ["/version", "/api/query?path=signIn:me&args={}", "/http/x"]) {
        expect(await askAs(host, stack.convexUrl, path)).toBe(403);
      }
      const upgrade = {
        connection: "Upgrade",
        upgrade: "websocket",
        "sec-websocket-version": "13",
        "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
      };
      expect(await askAs(host, stack.convexUrl, "/api/1.48.0/sync", upgrade)).toBe(403);
      const authorization = `Bearer ${stack.kindeControlKey}`;
      for (const path of ["/control/state", "/.well-known/openid-configuration", "/api/v1/users"]) {
        expect(await askAs(host, stack.kindeUrl, path, { authorization })).toBe(403);
      }
    },
  );

  test.each(HOSTS)("%j gets no screen, but is sent to the site", async (host) => {
    for (const path of ["/app", "/ops", "/ops/faults/control", "/api/auth/login"]) {
      const { hostname, port } = new URL(stack.url);
      const location = await new Promise((resolve, reject) => {
        const sent = httpRequest({ hostname, port, path, headers: { host } }, (answer) => {
          answer.resume();
          resolve(answer.headers.location);
        });
        sent.on("error", reject);
        sent.end();
      });
      expect(location).toBe(`${stack.siteUrl}${path}`);
    }
  });
});

describe("nobody is led elsewhere", () => {
  test.each([
    "https://evil.example/",
    "//evil.example",
    "/\\evil.example",
    "\\\\evil.example",
    "https:evil.example",
    "javascript:alert(1)",
    "http://localhost.evil.example/",
    "http://localhost@evil.example/",
    "%2F%2Fevil.example",
    "/\t/evil.example",
  ])("by a sign-in that ends at %j", async (target) => {
    const browser = new Browser();
    const query = new URLSearchParams({ post_login_redirect_url: target });
    const page = await browser.visit(`${stack.siteUrl}/api/auth/login?${query}`);
    const user = /name="user" value="([^"]+)"/.exec(page.text)?.[1];
    const action = /action="([^"]+)"/.exec(page.text)![1]!.replaceAll("&#38;", "&").replaceAll("&amp;", "&");
    const form = new URLSearchParams({ user: user! });
    const headers = { origin: new URL(page.url).origin };
    const done = await browser.visit(new URL(action, page.url).href, { method: "POST", body: form, headers });
    expect(new URL(done.url).origin).toBe(stack.siteUrl);
  });

  test("by a sign-out, or by the plan page", async () => {
    const out = await new Browser().ask(`${stack.kindeUrl}/logout?redirect=https://evil.example/`);
    expect([out.status, out.headers.get("location")]).toEqual([400, null]);
    for (const name of ["post_logout_redirect_url", "redirect", "returnTo"]) {
      const leaving = await signUpOverHttp(stack.siteUrl, { email: `${name}@example.org` });
      const target = encodeURIComponent("https://evil.example/");
      const ended = await leaving.visit(`${stack.siteUrl}/api/auth/logout?${name}=${target}`);
      expect(new URL(ended.url).hostname).not.toBe("evil.example");
    }
    const query = new URLSearchParams({ subNav: "plan_selection", returnUrl: "https://evil.example/" });
    const portal = await customer.visit(`${stack.siteUrl}/api/auth/portal?${query}`);
    expect(new URL(portal.url).hostname).not.toBe("evil.example");
    expect(portal.text).not.toContain('href="https://evil.example');
  });
});

test("a request whose head never ends was cut off meanwhile", { timeout: 60_000 }, async () => {
  await slowEnded;
  expect(slowAnswer).toMatch(/^HTTP\/1\.1 408 /);
  expect((await fetch(`${stack.url}/api/health`)).status).toBe(200);
});

describe("secrets", () => {
  /** What somebody sends by mistake or on purpose; none of it is for a log. */
  const PLANTED = {
    wrongKey: `hf_live_${"planted".repeat(6)}x`,
    wrongOperatorKey: `hf_op_${"planted".repeat(6)}x`,
    webhookBody: Buffer.from('{"planted":"webhook-body"}').toString("base64url"),
    callbackCode: "planted-callback-code",
    callbackState: "planted-callback-state",
    cookieToken: `eyJhbGciOiJub25lIn0.${Buffer.from("planted-cookie").toString("base64url")}.x`,
    wrongServerSecret: "planted-server-secret".repeat(3),
    reminderText: "planted-reminder-text",
  };

  test("are in no line of any process, whatever went right or wrong", { timeout: 60_000 }, async () => {
    const secrets = openSecrets(join(dataDir, "data"));
    const tokens = [customer, operator].flatMap((browser) =>
      [...browser.cookiesOf(stack.siteUrl)].filter(([name]) => /token/.test(name)).map(([, value]) => value),
    );
    expect(tokens.length).toBeGreaterThan(4);
    const bearer = (key: string) => ({ authorization: `Bearer ${key}` });
    const json = { "content-type": "application/json" };
    const api = (path: string, init: RequestInit) => fetch(`${stack.url}${path}`, init);
    const engine = (body: object, headers: Record<string, string> = {}) =>
      fetch(`${stack.convexUrl}/api/query`, {
        method: "POST",
        headers: { ...json, ...headers },
        body: JSON.stringify(body),
      });
    const [accessToken = ""] = [customer.cookiesOf(stack.siteUrl).get("access_token")];

    await api("/api/v1/usage", { headers: bearer(PLANTED.wrongKey) });
    await api("/api/metrics", { headers: bearer(PLANTED.wrongOperatorKey) });
    await api("/api/v1/jobs", {
      method: "POST",
      headers: { ...bearer(apiKey), ...json },
      body: `{"key":"${PLANTED.reminderText}`,
    });
    await api("/api/v1/reminders", {
      method: "POST",
      headers: { ...bearer(apiKey), ...json },
      body: JSON.stringify({ key: "k", text: PLANTED.reminderText, dueAtMs: Date.now() + 3_600_000 }),
    });
    await api("/api/webhooks/kinde", {
      method: "POST",
      body: `${PLANTED.webhookBody}.${PLANTED.webhookBody}.x`,
    });
    await api(`/api/auth/kinde_callback?code=${PLANTED.callbackCode}&state=${PLANTED.callbackState}`, {
      headers: { host: new URL(stack.siteUrl).host },
      redirect: "manual",
    });
    await customer.ask(
      `${stack.siteUrl}/api/auth/kinde_callback?code=${PLANTED.callbackCode}&state=${PLANTED.callbackState}`,
    );
    const broken = {
      cookie: `access_token=${PLANTED.cookieToken}; id_token=${PLANTED.cookieToken}; refresh_token=${PLANTED.cookieToken}`,
    };
    for (const path of ["/app", "/api/v1/usage/entries", "/api/auth/portal"]) {
      await fetch(`${stack.siteUrl}${path}`, { headers: broken, redirect: "manual" });
    }
    await fetch(`${stack.siteUrl}/api/session`, { method: "POST", headers: broken, body: '{"force":true}' });
    await engine({ path: "health:get", args: { serverSecret: PLANTED.wrongServerSecret } });
    await engine({
      path: "health:get",
      args: { serverSecret: secrets.serverSecret, more: secrets.serverSecret },
    });
    await engine({ path: "gate:usage", args: { keyHash: 1, serverSecret: secrets.serverSecret } });
    await engine({ path: secrets.serverSecret, args: {} });
    await engine({ path: "gate:usage", args: {} }, bearer(accessToken));
    await engine({ path: "gate:usage", args: {} }, { authorization: `Convex ${PLANTED.wrongServerSecret}` });
    await fetch(`${stack.convexUrl}/api/backup`, {
      method: "POST",
      headers: bearer(backupKeyOf(secrets)),
      body: "{",
    });
    await fetch(`${stack.kindeUrl}/control/nothing`, { headers: bearer(secrets.kindeControlKey) });
    const client = {
      grant_type: "client_credentials",
      client_id: "holdfast-m2m",
      client_secret: secrets.kindeM2mSecret,
    };
    await fetch(`${stack.kindeUrl}/oauth2/token`, {
      method: "POST",
      body: new URLSearchParams({ ...client, audience: "x" }),
    });

    await stack.stop();
    const output = stack.output();
    // The lines of every part are there to be searched.
    for (const part of ["local-convex", "kinde", "web"])
      expect(output).toMatch(new RegExp(`^${part}\\s+\\| `, "m"));
    const { operatorKeyFile: _file, ...kept } = secrets;
    const named = { ...kept, ...PLANTED, apiKey, backupKey: backupKeyOf(secrets), alertSecret: ALERT_SECRET };
    const found = Object.entries(named).filter(([, secret]) => output.includes(secret));
    expect(found.map(([name]) => name)).toEqual([]);
    expect(tokens.filter((token) => output.includes(token))).toEqual([]);
    expect(output).not.toMatch(/eyJ[\w-]{10,}\.[\w-]{10,}/);
  });

  test("are not in the database or the spool, where only hashes of keys belong", () => {
    const folder = join(dataDir, "data");
    const { serverSecret, operatorKey, kindeClientSecret, kindeM2mSecret, kindeControlKey } =
      openSecrets(folder);
    const secrets = [apiKey, serverSecret, operatorKey, kindeClientSecret, kindeM2mSecret, kindeControlKey];
    const files = readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && /convex\.sqlite|spool/.test(join(entry.parentPath, entry.name)))
      .map((entry) => join(entry.parentPath, entry.name));
    expect(files.length).toBeGreaterThan(0);
    for (const file of files) {
      const bytes = readFileSync(file);
      expect(secrets.filter((secret) => bytes.includes(secret))).toEqual([]);
    }
  });
});
