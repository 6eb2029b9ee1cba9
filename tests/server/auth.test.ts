import { describe, expect, test } from "vitest";
import { createApiKey, hashApiKey, readCredential } from "../../lib/server/api-keys.ts";
import { routes } from "../../lib/server/api/router.ts";
import { API_KEY, SERVER_SECRET, apiHarness } from "./helpers/api.ts";
import {
  ACCOUNT_ID,
  ENTRY_ID,
  EVENT_ID,
  JOB_ID,
  KEY_ID,
  LINK_ID,
  REMINDER_ID,
  REVIEW_ID,
} from "./helpers/samples.ts";

const api = await apiHarness();

const fill = (path: string): string =>
  path
    .replace("{jobId}", JOB_ID)
    .replace("{accountId}", ACCOUNT_ID)
    .replace("{keyId}", KEY_ID)
    .replace("{linkId}", LINK_ID)
    .replace("{reviewId}", REVIEW_ID)
    .replace("{entryId}", ENTRY_ID)
    .replace("{eventId}", EVENT_ID)
    .replace("{reminderId}", REMINDER_ID);

const guarded = routes.filter((route) => route.path !== "/openapi.json");

describe("no route but the description answers without a key", () => {
  test.each(guarded.map((route) => [route.method, route.path] as const))("%s %s", async (method, path) => {
    const answer = await api.call(fill(path), { method, key: null });
    expect(answer.status).toBe(401);
    expect(answer.headers.get("www-authenticate")).toMatch(/^Bearer /);
    expect(answer.json).toMatchObject({ code: "unauthorized", status: 401 });
    expect(api.convex.calls).toEqual([]);
  });
});

describe("an Authorization header that is not a Bearer key of ours is a 401", () => {
  test.each([
    ["empty", ""],
    ["another scheme", "Basic aGY6aGY="],
    ["the key alone", API_KEY],
    ["no key", "Bearer "],
    ["another kind of key", "Bearer sk_live_0123456789"],
    ["two keys", `Bearer ${API_KEY} ${API_KEY}`],
    ["a key without end", `Bearer hf_${"a".repeat(5000)}`],
  ])("%s", async (_name, authorization) => {
    const answer = await api.call("/usage", { headers: { authorization } });
    expect(answer.status).toBe(401);
    expect(answer.headers.get("www-authenticate")).toMatch(/^Bearer /);
    expect(answer.text).not.toContain(API_KEY);
    expect(api.convex.calls).toEqual([]);
  });

  test("the scheme is read in any case", () => {
    const headers = new Headers({ authorization: `bearer ${API_KEY}` });
    expect(readCredential(headers)).toEqual({ kind: "key", keyHash: hashApiKey(API_KEY) });
  });

  test("a key is hashed once for each request, though guard and handler both ask", () => {
    let asked = 0;
    const headers = {
      get: () => {
        asked += 1;
        return `Bearer ${API_KEY}`;
      },
    };
    const [first, second] = [readCredential(headers), readCredential(headers)];
    expect([first, asked]).toEqual([second, 1]);
  });
});

test.each([
  ["unauthorized", 401],
  ["forbidden", 403],
])("a key that Convex calls %s is a %d", async (code, status) => {
  api.convex.on("gate:usage", { errorData: { code, message: `said by ${SERVER_SECRET}` } });
  const answer = await api.call("/usage");
  expect(answer.status).toBe(status);
  expect(answer.json).toMatchObject({ code, status });
  expect(answer.headers.has("www-authenticate")).toBe(status === 401);
  expect(answer.text).not.toContain(SERVER_SECRET);
});

test("only the hash of a key goes on to Convex", async () => {
  api.convex.on("gate:usage", { value: null });
  await api.call("/usage");
  expect(api.convex.calls[0]?.args).toEqual({ serverSecret: SERVER_SECRET, keyHash: hashApiKey(API_KEY) });
  expect(JSON.stringify(api.convex.calls)).not.toContain(API_KEY);
});

test("keys are 256 random bits behind a prefix", () => {
  const keys = Array.from({ length: 100 }, () => createApiKey());
  for (const { secret, keyHash, prefix } of keys) {
    expect(secret).toMatch(/^hf_live_[A-Za-z0-9_-]{43}$/);
    expect(keyHash).toBe(hashApiKey(secret));
    expect(secret.startsWith(prefix)).toBe(true);
  }
  expect(new Set(keys.map((key) => key.secret)).size).toBe(100);
  expect(createApiKey((size) => new Uint8Array(size)).secret).toBe(`hf_live_${"A".repeat(43)}`);
});

test("a key is named by the hex of its SHA-256", () => {
  expect(hashApiKey("abc")).toBe("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
});
