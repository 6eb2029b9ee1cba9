import { expect, test } from "vitest";
import { startBudget } from "../../../lib/kinde/back-off.ts";
import { createTokenSource, type StoredToken } from "../../../lib/kinde/token.ts";

const budget = startBudget(() => 0, 8_000);

function source(read: () => Promise<StoredToken | null>) {
  let fetched = 0;
  const tokens = createTokenSource({
    store: { read, write: async () => undefined },
    nowMs: () => 0,
    random: () => 0,
    sleep: async () => undefined,
    attemptsMax: 1,
    fetchToken: async () => ({ kind: "fetched", accessToken: `new ${(fetched += 1)}`, lifeSeconds: 3600 }),
  });
  return { tokens, fetchedCount: () => fetched };
}

test("a token refused while another call is just loading it is not handed to the call that was refused", async () => {
  let answer: (token: StoredToken) => void = () => undefined;
  const { tokens, fetchedCount } = source(
    () =>
      new Promise((resolve) => {
        answer = resolve;
      }),
  );
  const loading = tokens.get(null, budget);
  const refused = tokens.get("old", budget);
  // The first is spared a doomed call too, since the refusal came before the load ended.
  answer({ accessToken: "old", expiresAtMs: 1_000 });
  expect(await Promise.all([loading, refused])).toEqual([
    { kind: "token", accessToken: "new 1" },
    { kind: "token", accessToken: "new 1" },
  ]);
  expect(fetchedCount()).toBe(1);
});

test("a token refused after its load ended is replaced for both", async () => {
  const { tokens, fetchedCount } = source(async () => ({ accessToken: "old", expiresAtMs: 1_000 }));
  expect(await tokens.get(null, budget)).toEqual({ kind: "token", accessToken: "old" });
  const both = await Promise.all([tokens.get("old", budget), tokens.get("old", budget)]);
  expect(both.map((outcome) => outcome.kind === "token" && outcome.accessToken)).toEqual(["new 1", "new 1"]);
  expect(fetchedCount()).toBe(1);
});

test("a late refusal of an older token leaves the newer one in use", async () => {
  const { tokens, fetchedCount } = source(async () => null);
  expect(await tokens.get(null, budget)).toMatchObject({ accessToken: "new 1" });
  expect(await tokens.get("old", budget)).toMatchObject({ accessToken: "new 1" });
  expect(fetchedCount()).toBe(1);
});
