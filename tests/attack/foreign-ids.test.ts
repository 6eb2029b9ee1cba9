import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { SERVER_SECRET } from "../helpers/backend.ts";
import { argumentsFor, listFunctions, type PublicFunction } from "./function-list.ts";
import { createCustomer, type Customer, openWorld, rowsOf, type World } from "./world.ts";

/** Another customer's ids in every public function. The list comes from what is deployed, the arguments from validators. */
const { publicOnes } = await listFunctions();
const ofAccounts = publicOnes.filter(({ door }) => door === "account");

let world: World;
let mallory: Customer;
beforeAll(async () => {
  world = await openWorld();
  mallory = await createCustomer(world);
});
afterAll(() => world.close());

/** Plain values for arguments that name nothing of anybody's. Hours and instants are those of the world's clock. */
const PLAIN: Record<string, unknown> = {
  keyHashNew: "e".repeat(64),
  prefix: "hf_live_evil",
  name: "x",
  key: "k",
  typed: "x",
  target: "https://example.com/x",
  refreshLease: "tokens.1",
  outcome: "completed",
};

/** Arguments in which everything that can name a thing names one of `owner`'s. */
function pointedAt(fn: PublicFunction, owner: Customer): Record<string, unknown> {
  const nowMs = world.inside.nowMs();
  const numbers: Record<string, unknown> = {
    fence: 1,
    fromMs: nowMs - 3_600_000,
    untilMs: nowMs + 3_600_000,
    from: 0,
    dueAtMs: nowMs + 60_000,
    startMs: nowMs - 3_600_000,
    fromDay: 0,
  };
  const isCycle = (name: string) => name === "cycle" || (fn.path === "screensUsage:byDay" && name === "name");
  return argumentsFor(fn, (name) => {
    // A new link gets a code of its own.
    if (name === "code") return undefined;
    if (isCycle(name)) return "2026-10";
    if (name in owner.ids) return owner.ids[name];
    // A search narrows what a list gives; the ids beside it are what is tried.
    if (name === "text") return fn.path === "screensEntries:recent" ? undefined : owner.mark;
    if (name === "keyStart") return owner.mark;
    return numbers[name] ?? PLAIN[name];
  });
}

const ID_NAME = /^id$|Id$/;
const takesId = (fn: PublicFunction) => Object.keys(fn.args.value).some((name) => ID_NAME.test(name));
const takesCursor = (fn: PublicFunction) => "cursor" in fn.args.value;
const takesText = (fn: PublicFunction) => "text" in fn.args.value || "keyStart" in fn.args.value;

const callAs = (caller: Customer, fn: PublicFunction, args: object, by: "token" | "key") =>
  by === "token"
    ? world.call(fn.kind, fn.path, args, caller.token)
    : world.call(fn.kind, fn.path, { ...args, ...caller.keys });

function expectNothingOf(owner: Customer, text: string, sent: object): void {
  const given = new Set(Object.values(sent).filter((value) => typeof value === "string"));
  const names = [owner.mark, owner.accountId, ...Object.values(owner.ids)];
  expect(names.filter((name) => !given.has(name) && text.includes(name))).toEqual([]);
}

test("there are functions that take an id, a cursor or a text, of every kind", () => {
  expect(ofAccounts.filter(takesId).length).toBeGreaterThan(15);
  expect(ofAccounts.filter(takesCursor).length).toBeGreaterThan(8);
  expect(publicOnes.length).toBeGreaterThan(100);
});

describe("another customer's id opens nothing and moves nothing; the owner's call is answered", () => {
  const cases = ofAccounts.filter(takesId).map((fn) => [fn.path, fn] as const);
  test.each(cases)("%s", async (_path, fn) => {
    const owner = await createCustomer(world);
    const args = pointedAt(fn, owner);
    const before = await rowsOf(world, owner);
    const answers = [await callAs(mallory, fn, args, "token"), await callAs(mallory, fn, args, "key")];
    for (const { text } of answers) expectNothingOf(owner, text, args);
    expect(await rowsOf(world, owner)).toEqual(before);

    const own = await callAs(owner, fn, args, "token");
    expect(own.body).toMatchObject({ status: "success" });
    expect(own.body.value).not.toBeNull();
    expect(own.body.value).not.toMatchObject({ kind: "not_found" });
    expect(answers.map(({ body }) => body.value)).not.toContainEqual(own.body.value);
  });
});

describe("nothing of another customer is in any answer, whatever is asked", () => {
  let owner: Customer;
  beforeAll(async () => {
    owner = await createCustomer(world);
  });

  test.each(ofAccounts.map((fn) => [fn.path, fn] as const))("%s", async (_path, fn) => {
    const before = await rowsOf(world, owner);
    const asked = pointedAt(fn, owner);
    const texts = takesText(fn) ? [owner.mark, owner.accountId, `customer_${owner.mark}`] : [""];
    for (const text of texts) {
      const args = takesText(fn)
        ? { ...asked, ["text" in fn.args.value ? "text" : "keyStart"]: text }
        : asked;
      for (const by of ["token", "key"] as const) {
        const answer = await callAs(mallory, fn, args, by);
        expect(answer.text).not.toContain("ArgumentValidationError");
        expectNothingOf(owner, answer.text, args);
      }
    }
    expect(await rowsOf(world, owner)).toEqual(before);
  });
});

describe("a cursor of another customer's list turns no page of it", () => {
  test.each(ofAccounts.filter(takesCursor).map((fn) => [fn.path, fn] as const))("%s", async (_path, fn) => {
    const owner = await createCustomer(world);
    const args = { ...pointedAt(fn, owner), ...("limit" in fn.args.value ? { limit: 1 } : {}), cursor: null };
    const first = await callAs(owner, fn, args, "token");
    expect(first.body).toMatchObject({ status: "success" });
    const value = first.body.value as { cursor?: string | null };
    const cursors = [value.cursor ?? null, owner.accountId, "0", '["a"]', "\u0000"];
    for (const cursor of cursors) {
      const answer = await callAs(mallory, fn, { ...args, cursor }, "token");
      expectNothingOf(owner, answer.text, { ...args, cursor });
    }
  });
});

describe("the account that a call of our server speaks for cannot be chosen by its caller", () => {
  test("a token and a key together: the key counts, and only with the server's secret", async () => {
    const owner = await createCustomer(world);
    const [{ keyHash }] = [owner.keys];
    const stolen = await world.call("query", "gate:usage", { keyHash }, mallory.token);
    expect(stolen.body.errorData?.code).toBe("server_refused");
    const guessed = { serverSecret: "f".repeat(64), keyHash };
    const wrong = await world.call("query", "gate:usage", guessed, mallory.token);
    expect(wrong.body.errorData?.code).toBe("server_refused");
    expect(wrong.text).not.toContain(owner.accountId);
  });

  test("clicks of a link are booked on the account of the link, whatever account is named", async () => {
    const owner = await createCustomer(world);
    const before = await rowsOf(world, owner);
    const click = {
      key: "c".repeat(32),
      linkId: mallory.ids["linkId"],
      accountId: owner.accountId,
      atMs: world.inside.nowMs(),
      served: "target",
      class: "billable",
      rule: "",
      referrer: null,
      agent: null,
    };
    const args = {
      serverSecret: SERVER_SECRET,
      linkId: click.linkId,
      accountId: owner.accountId,
      clicks: [click],
    };
    const answer = await world.call("mutation", "clicks:record", args);
    expect(answer.body.value).toEqual({ kind: "written", count: 1 });
    expect(await rowsOf(world, owner)).toEqual(before);
  });
});
