import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { localBackend, type LocalBackend } from "../../helpers/local-backend.ts";
import {
  ENTITLEMENTS_PATH,
  SECRET,
  TOKEN,
  TOKEN_PATH,
  emptyEntitlements,
  row,
  tokenBody,
} from "./fixtures.ts";
import { json, silent, startScriptedServer, type ScriptedServer } from "./scripted-server.ts";

/** The client as it is used: bundled into a Convex action, its token in a table, on a clock that is not the real one. */

let backend: LocalBackend;
let server: ScriptedServer;
beforeEach(async () => {
  backend = await localBackend({ functionsDir: join(import.meta.dirname, "functions") });
  server = await startScriptedServer();
});
afterEach(async () => {
  await backend.close();
  await server.close();
});
const readLimits = (callTimeoutMs = 5_000) =>
  backend.action("kinde:readLimits", { issuerUrl: server.url, clientSecret: SECRET, callTimeoutMs });

const entitlements = { ...emptyEntitlements, entitlements: [row("e1", "tokens", 30_000)] };

test("an action reads limits, and the next one finds the token in its table", async () => {
  server.script(TOKEN_PATH, tokenBody());
  server.script(ENTITLEMENTS_PATH, json(503, {}), entitlements, entitlements);
  const expected = {
    kind: "read",
    sentAtMs: backend.nowMs(),
    plans: [],
    entitlements: [{ featureKey: "tokens", limitUnits: 30_000 }],
  };
  expect(await readLimits()).toEqual(expected);
  expect(await readLimits()).toEqual(expected);
  expect(server.to(TOKEN_PATH)).toHaveLength(1);
  expect(await backend.readAll("tokens")).toMatchObject([
    { accessToken: TOKEN, expiresAtMs: backend.nowMs() + 3_540_000 },
  ]);
});

test("a call that stays unanswered ends in real time, though the clock of the functions stands still", async () => {
  server.always(TOKEN_PATH, tokenBody());
  server.always(ENTITLEMENTS_PATH, silent);
  expect(await readLimits(100)).toMatchObject({ kind: "failed", code: "timeout" });
});

test("the clock moves past the end of a stored token and a new one is fetched", async () => {
  server.script(TOKEN_PATH, tokenBody("first"), tokenBody("second"));
  server.always(ENTITLEMENTS_PATH, entitlements);
  await readLimits();
  await backend.advanceMs(3_540_000);
  await readLimits();
  expect(server.to(ENTITLEMENTS_PATH).map((request) => request.headers["authorization"])).toEqual([
    "Bearer first",
    "Bearer second",
  ]);
});
