import { makeFunctionReference } from "convex/server";
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import type { VerifyToken } from "../../../lib/local-convex/sync/authenticate.ts";
import { syncBackend, until, type SyncBackend } from "../../helpers/sync-backend.ts";
import { connect, mutation, querySet, subscribed, tap, wireClient } from "../../helpers/sync-wire.ts";
import { subjectOf, unsignedToken } from "../../helpers/tokens.ts";

const ADMIN_KEY = "admin-key-of-this-test";
const whoami = makeFunctionReference<"query">("sync:whoami");
const addMine = makeFunctionReference<"mutation">("sync:addMine");
const ofOwner = makeFunctionReference<"query">("sync:ofOwner");

let sync: SyncBackend;
let lifeMs: number;
let newestExpiryMs: number;
let checks: string[];
let issuerAnswersAtMs: number;

/** Takes every token's word, except "mallory"'s. */
const verifyToken: VerifyToken = async (token) => {
  const subject = token.includes(".") ? subjectOf(token) : token;
  checks.push(subject);
  await new Promise((resolve) => setTimeout(resolve, 5));
  if (issuerAnswersAtMs > Date.now())
    return { kind: "refused", code: "AuthProviderDiscoveryFailed", message: "The issuer does not answer." };
  if (subject === "mallory")
    return { kind: "refused", code: "Unauthenticated", message: "Could not verify OIDC token claim." };
  newestExpiryMs = Date.now() + lifeMs;
  return { kind: "ok", identity: { subject, issuer: "test" }, expiresAtMs: newestExpiryMs };
};

beforeEach(async () => {
  lifeMs = 3_600_000;
  checks = [];
  issuerAnswersAtMs = 0;
  sync = await syncBackend({}, { adminKey: ADMIN_KEY, verifyToken });
});

afterEach(() => sync.close());

const authenticate = (baseVersion: number, value: string): object => ({
  type: "Authenticate",
  baseVersion,
  tokenType: "User",
  value,
});

describe("setAuth of the official client", () => {
  test("queries and mutations run as the signed-in user, and again as nobody after signing out", async () => {
    const client = sync.client();
    const seen: unknown[] = [];
    client.setAuth(async () => unsignedToken("alice"));
    client.onUpdate(whoami, {}, (subject) => seen.push(subject));
    await until(() => seen.at(-1) === "alice");
    await client.mutation(addMine, { b: 1 });
    expect(await client.query(ofOwner, { owner: "alice" })).toEqual([1]);
    client.client.clearAuth();
    await until(() => seen.at(-1) === null);
    await client.mutation(addMine, { b: 2 });
    expect(await client.query(ofOwner, { owner: "nobody" })).toEqual([2]);
  });

  test("an issuer that does not answer yet signs nobody out: the client tries again", async () => {
    issuerAnswersAtMs = Date.now() + 1_500;
    const client = sync.client();
    const seen: unknown[] = [];
    const changes: boolean[] = [];
    client.setAuth(
      async () => unsignedToken("alice"),
      (isAuthenticated) => changes.push(isAuthenticated),
    );
    client.onUpdate(whoami, {}, (subject) => seen.push(subject));
    await until(() => seen.at(-1) === "alice");
    expect(changes).toEqual([true]);
    expect(seen).toEqual(["alice"]);
  });

  test("another user's results replace the first user's", async () => {
    const client = sync.client();
    const seen: unknown[] = [];
    client.setAuth(async () => unsignedToken("alice"));
    client.onUpdate(whoami, {}, (subject) => seen.push(subject));
    await until(() => seen.at(-1) === "alice");
    client.setAuth(async () => unsignedToken("bob"));
    await until(() => seen.at(-1) === "bob");
    expect(seen.filter((subject) => subject !== null)).toEqual(["alice", "bob"]);
  });

  test("a fresh token of the same user runs nothing again", async () => {
    const client = sync.client();
    let issued = 0;
    let subject: unknown = null;
    client.setAuth(async () => unsignedToken("alice", 3_600, String(issued++)));
    client.onUpdate(whoami, {}, (value) => (subject = value));
    await until(() => subject === "alice" && checks.length === 2);
    await client.mutation(makeFunctionReference<"mutation">("sync:nothing"), {});
    const before = sync.backend.engine.counts.queries;
    client.setAuth(async () => unsignedToken("alice", 3_600, String(issued++)));
    await until(() => checks.length === 4);
    await client.mutation(makeFunctionReference<"mutation">("sync:nothing"), {});
    expect(sync.backend.engine.counts.queries).toBe(before);
  });

  test("trap 18: a token that is refused for good ends as signed out, with the queries running on", async () => {
    const client = sync.client();
    const authState: boolean[] = [];
    const seen: unknown[] = [];
    let issued = 0;
    client.setAuth(
      async () => unsignedToken("mallory", 3_600, String(issued++)),
      (isAuthenticated) => authState.push(isAuthenticated),
    );
    client.onUpdate(whoami, {}, (subject) => seen.push(subject));
    await until(() => checks.length === 4 && authState.includes(false));
    await client.mutation(addMine, { b: 1 });
    expect(authState).not.toContain(true);
    expect(seen).toEqual([null]);
    expect(await client.query(ofOwner, { owner: "nobody" })).toEqual([1]);
    expect(checks).toHaveLength(4);
  });

  test("a token refused once is replaced by a fresh one", async () => {
    const client = sync.client();
    const subjects = ["mallory", "alice", "alice"];
    let subject: unknown;
    client.setAuth(async () => unsignedToken(subjects.shift() ?? "alice"));
    client.onUpdate(whoami, {}, (value) => (subject = value));
    await until(() => subject === "alice");
    expect(checks[0]).toBe("mallory");
  });

  test("a token that runs out while connected is refreshed, and the mutation runs once", async () => {
    const watched = tap();
    const client = sync.client({ webSocketConstructor: watched.webSocketConstructor });
    lifeMs = 500;
    let issued = 0;
    let isSignedIn = false;
    client.setAuth(
      async () => unsignedToken("alice", 3_600, String(issued++)),
      (isAuthenticated) => (isSignedIn = isAuthenticated),
    );
    await until(
      () => isSignedIn && checks.length === 2 && watched.received.at(-1)?.["endVersion"]?.identity === 2,
    );
    await until(() => Date.now() > newestExpiryMs);
    lifeMs = 3_600_000;
    await client.mutation(addMine, { b: 1 });
    const errors = watched.received.filter((frame) => frame.type === "AuthError");
    expect(errors[0]).toMatchObject({
      error: "Convex token identity expired",
      authUpdateAttempted: false,
    });
    expect(await client.query(ofOwner, { owner: "alice" })).toEqual([1]);
  });
});

describe("on the wire", () => {
  test("trap 18: an AuthError names the identity of the last transition that was sent", async () => {
    const client = await wireClient(sync.url);
    client.send(connect(), authenticate(0, "alice"));
    await client.next("Transition", (frame) => frame.endVersion.identity === 1);
    client.send(authenticate(1, "mallory"));
    expect(await client.next("AuthError")).toEqual({
      type: "AuthError",
      error: "Could not verify OIDC token claim.",
      baseVersion: 1,
      authUpdateAttempted: true,
    });
    await client.closed;
  });

  test("what follows an Authenticate runs as the new user, and what came before as the old one", async () => {
    const client = await wireClient(sync.url);
    client.send(
      connect(),
      mutation(0, "sync:addMine", { b: 1 }),
      authenticate(0, "alice"),
      mutation(1, "sync:addMine", { b: 2 }),
      { type: "Authenticate", baseVersion: 1, tokenType: "None" },
      mutation(2, "sync:addMine", { b: 3 }),
    );
    await client.next("MutationResponse", (frame) => frame.requestId === 2);
    const rows = await sync.backend.readAll<{ _id: string; _creationTime: number; a: string; b: number }>(
      "rows",
    );
    expect(rows.map(({ a, b }) => [a, b])).toEqual([
      ["nobody", 1],
      ["alice", 2],
      ["nobody", 3],
    ]);
  });

  test("expired: a re-run and an action end the connection, and nothing of the user's is sent", async () => {
    lifeMs = 300;
    for (const act of ["re-run", "action"] as const) {
      const client = await wireClient(sync.url);
      client.send(connect(), authenticate(0, "alice"), querySet(0, [{ path: "sync:total" }]));
      await client.next("Transition", (frame) => frame.endVersion.querySet === 1);
      await until(() => Date.now() > newestExpiryMs);
      const heard = client.received.length;
      if (act === "re-run") await sync.backend.mutation("sync:add", { owner: "a", b: 1 });
      else client.send({ ...mutation(0, "sync:double", { b: 1 }), type: "Action" });
      await client.closed;
      expect(client.received.slice(heard)).toMatchObject([{ type: "AuthError", authUpdateAttempted: false }]);
    }
  });

  test("the admin key runs internal functions, as nobody or as the user it names; another key does not", async () => {
    const admin = (value: string, more: object = {}) => ({
      type: "Authenticate",
      baseVersion: 0,
      tokenType: "Admin",
      value,
      ...more,
    });
    const client = await wireClient(sync.url);
    client.send(
      connect(),
      admin(ADMIN_KEY, { impersonating: { subject: "carol", issuer: "test" } }),
      mutation(0, "faults:hidden"),
      mutation(1, "sync:addMine", { b: 1 }),
    );
    expect(await client.next("MutationResponse")).toMatchObject({ success: true, result: "hidden" });
    await client.next("MutationResponse");
    expect(await sync.backend.query("sync:ofOwner", { owner: "carol" })).toEqual([1]);
    const other = await wireClient(sync.url);
    other.send(connect(), admin("wrong"));
    expect(await other.next("AuthError")).toMatchObject({ baseVersion: 0, authUpdateAttempted: true });
    const nobody = await wireClient(sync.url);
    await subscribed(nobody, []);
    nobody.send(mutation(0, "faults:hidden"));
    expect(await nobody.next("MutationResponse")).toMatchObject({ success: false });
  });
});
