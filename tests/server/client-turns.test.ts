import { describe, expect, test } from "vitest";
import { ClientTurns, type Turn } from "../../lib/server/client-turns.ts";

const RULE = { burst: 3, everyMs: 1_000 };

/** Takes a turn that has to be given at once. */
function taken(turns: ClientTurns, mayProve = false, client = "a"): Turn {
  const turn = turns.take(client, mayProve, 0);
  if (turn === null || turn instanceof Promise) throw new Error("no turn at once");
  return turn;
}

/** What has become of a request by now. */
async function stateOf(taking: ReturnType<ClientTurns["take"]>) {
  const turn = await Promise.race([taking, Promise.resolve("waits" as const)]);
  if (turn === null) return "refused";
  return turn === "waits" ? turn : turn.isBeyond ? "beyond" : "within";
}

/** Lets promises that are settled reach those who wait for them. */
const settle = () => new Promise((resolve) => setImmediate(resolve));

describe("a request under way counts as a failure until it proves good", () => {
  test("what is beyond the burst waits, and is refused when those before it failed", async () => {
    const turns = new ClientTurns(RULE);
    const first = [taken(turns), taken(turns), taken(turns)];
    const later = Array.from({ length: 20 }, () => turns.take("a", false, 0));
    expect(await stateOf(later[0]!)).toBe("waits");
    for (const turn of first) turn.end(true, 0);
    await settle();
    expect(await Promise.all(later.map(stateOf))).toEqual(Array(20).fill("refused"));
    expect([turns.take("a", false, 0), turns.size]).toEqual([null, 0]);
    expect(turns.limits.waitMs("a", 0)).toBe(1_000);
  });

  test("what proves good gives its place back, and costs nothing", async () => {
    const turns = new ClientTurns(RULE);
    const first = [taken(turns), taken(turns), taken(turns)];
    const later = Array.from({ length: 5 }, () => turns.take("a", false, 0));
    for (const turn of first) turn.end(false, 0);
    await settle();
    expect(await Promise.all(later.map(stateOf))).toEqual(["within", "within", "within", "waits", "waits"]);
    for (const turn of later) void Promise.resolve(turn).then((it) => it?.end(false, 0));
    await settle();
    expect([turns.size, turns.limits.size, turns.limits.triesLeft("a", 0)]).toEqual([0, 0, 3]);
  });

  test("a client waits for nobody else", () => {
    const turns = new ClientTurns(RULE);
    for (let count = 0; count < 3; count += 1) taken(turns);
    expect(taken(turns, false, "b").isBeyond).toBe(false);
  });
});

describe("a client without a try", () => {
  const spent = () => {
    const turns = new ClientTurns(RULE);
    for (let count = 0; count < 3; count += 1) taken(turns).end(true, 0);
    return turns;
  };

  test("is looked at where it may prove good, eight at once, whatever becomes of them", async () => {
    const turns = spent();
    const under = Array.from({ length: 8 }, () => taken(turns, true));
    expect(under.every(({ isBeyond }) => isBeyond)).toBe(true);
    const later = Array.from({ length: 100 }, () => turns.take("a", true, 0));
    expect(await stateOf(later[0]!)).toBe("waits");
    for (const turn of under) turn.end(true, 0);
    await settle();
    expect((await Promise.all(later.map(stateOf))).filter((state) => state === "beyond")).toHaveLength(8);
    // It was said once that there is no try left; that is not said again for each.
    expect(turns.limits.waitMs("a", 0)).toBe(1_000);
  });

  test("gets its try when the time has come", () => {
    const turns = spent();
    expect(turns.take("a", false, 999)).toBe(null);
    expect(turns.take("a", false, 1_000)).toMatchObject({ isBeyond: false });
  });
});

test("who waits is bounded", () => {
  const turns = new ClientTurns(RULE);
  for (let count = 0; count < 3; count += 1) taken(turns);
  const waiting = Array.from({ length: 1_000 }, () => turns.take("a", true, 0));
  expect(waiting.filter((turn) => turn instanceof Promise)).toHaveLength(995);
  for (let count = 0; count < 5; count += 1) expect(turns.take("a", true, 0)).toBeInstanceOf(Promise);
  expect(turns.take("a", true, 0)).toBe(null);
});
