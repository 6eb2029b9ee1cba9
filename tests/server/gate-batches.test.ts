import { getFunctionName } from "convex/server";
import { beforeEach, expect, test } from "vitest";
import { GATE_BATCH_MAX } from "../../lib/gate/batch.ts";
import { convexApi } from "../../lib/server/convex-functions.ts";
import { BackendError, QUEUE_WAIT_MS_MAX, type Caller, type ConvexGateway } from "../../lib/server/convex.ts";
import { gatherGateCalls, WAITING_MAX } from "../../lib/server/gate-batches.ts";

interface SentCall {
  readonly name: string;
  readonly args: { readonly calls?: readonly { readonly call: string; readonly key?: string }[] };
  readonly caller: Caller | undefined;
  readonly answer: (value: unknown) => void;
  readonly fail: (error: unknown) => void;
}

let sent: SentCall[];
let nowMs: number;
let gateway: ConvexGateway;
beforeEach(() => {
  sent = [];
  nowMs = 0;
  const keep = (ref: never, args: never, caller?: Caller) =>
    new Promise<never>((resolve, reject) => {
      sent.push({ name: getFunctionName(ref), args, caller, answer: resolve as never, fail: reject });
    });
  gateway = gatherGateCalls({ query: keep, mutation: keep, action: keep }, () => nowMs);
});

const keyOf = (keyHash: string): Caller => ({ kind: "key", keyHash });
const admit = (key: string, caller: Caller = keyOf("one")) =>
  gateway.mutation(convexApi.gate.admit, { key, units: 1 }, caller);
const settle = (jobId: string) =>
  gateway.mutation(convexApi.gate.settle, { jobId, outcome: "completed" }, keyOf("one"));
const turn = () => new Promise((resolve) => setImmediate(resolve));
/** Answers a call that was sent, with the key or job of each call as its answer. */
function answer(index: number): void {
  const { args, answer: give } = sent[index]!;
  const nameOf = (call: { key?: string; jobId?: string }) => call.key ?? call.jobId;
  give(args.calls === undefined ? nameOf(args as object) : args.calls.map(nameOf));
}

test("the first goes at once and alone; those that come meanwhile go together when it is back", async () => {
  const answers = Promise.all(["a", "b", "c", "d"].map((key) => admit(key)));
  expect(sent.map(({ name }) => name)).toEqual(["gate:admit"]);
  answer(0);
  await turn();
  expect(sent[1]).toMatchObject({
    name: "gateBatch:run",
    caller: { kind: "key", keyHash: "one" },
    args: { calls: ["b", "c", "d"].map((key) => ({ call: "admit", key, units: 1 })) },
  });
  answer(1);
  expect(await answers).toEqual(["a", "b", "c", "d"]);
  // Nothing waits any more: the next is a first one again.
  void admit("e");
  expect(sent[2]).toMatchObject({ name: "gate:admit", args: { key: "e" } });
});

test("a single call that waited is sent as itself", async () => {
  const answers = Promise.all([admit("a"), admit("b")]);
  answer(0);
  await turn();
  expect(sent[1]).toMatchObject({ name: "gate:admit", args: { key: "b" } });
  answer(1);
  expect(await answers).toEqual(["a", "b"]);
});

test("in a batch, what gives back comes before what takes, and each has its own answer", async () => {
  const answers = Promise.all([admit("a"), admit("b"), settle("job1"), admit("c"), settle("job2")]);
  answer(0);
  await turn();
  const kinds = sent[1]!.args.calls!.map(({ call }) => call);
  expect(kinds).toEqual(["settle", "settle", "admit", "admit"]);
  answer(1);
  expect(await answers).toEqual(["a", "b", "job1", "c", "job2"]);
});

test(`a batch has ${GATE_BATCH_MAX} calls at most, and the rest goes with the next`, async () => {
  const keys = Array.from({ length: GATE_BATCH_MAX + 5 }, (_, index) => `k${index}`);
  const answers = Promise.all(keys.map((key) => admit(key)));
  for (const index of [0, 1, 2]) {
    answer(index);
    await turn();
  }
  expect(sent.map(({ args }) => args.calls?.length)).toEqual([undefined, GATE_BATCH_MAX, 4]);
  expect(await answers).toEqual(keys);
});

test("two keys do not wait for each other", () => {
  void admit("a", keyOf("one"));
  void admit("b", keyOf("two"));
  expect(sent.map(({ caller }) => caller)).toEqual([keyOf("one"), keyOf("two")]);
});

test("what is no write of the gate, or of no key, passes through", () => {
  void admit("a");
  void gateway.mutation(convexApi.runner.kill, { jobId: "j" }, keyOf("one"));
  void admit("b", { kind: "session", accessToken: "t" });
  void gateway.query(convexApi.gate.usage, {}, keyOf("one"));
  expect(sent.map(({ name }) => name)).toEqual(["gate:admit", "runner:kill", "gate:admit", "gate:usage"]);
});

test.each(["refused", "failed", "contract"] as const)(
  "a batch that was %s is sent call by call, so that one does not fail for another",
  async (fault) => {
    const answers = Promise.allSettled([admit("a"), admit("bad"), admit("c")]);
    answer(0);
    await turn();
    sent[1]!.fail(new BackendError(fault, "made by the test"));
    await turn();
    expect(sent.slice(2).map(({ name, args }) => [name, (args as { key?: string }).key])).toEqual([
      ["gate:admit", "bad"],
      ["gate:admit", "c"],
    ]);
    sent[2]!.fail(new BackendError(fault, "the bad one"));
    answer(3);
    expect(await answers).toMatchObject([
      { value: "a" },
      { status: "rejected", reason: { message: "the bad one" } },
      { value: "c" },
    ]);
  },
);

test.each(["conflict", "unreachable"] as const)(
  "a batch that ended as %s is not sent again: whoever asked decides",
  async (fault) => {
    const answers = Promise.allSettled([admit("a"), admit("b"), admit("c")]);
    answer(0);
    await turn();
    sent[1]!.fail(new BackendError(fault, "made by the test"));
    const [, ...rest] = await answers;
    expect(rest).toMatchObject([{ reason: { fault } }, { reason: { fault } }]);
    expect(sent).toHaveLength(2);
  },
);

test("a first call that fails holds nobody up", async () => {
  const answers = Promise.allSettled([admit("a"), admit("b")]);
  sent[0]!.fail(new BackendError("unreachable", "made by the test"));
  await turn();
  answer(1);
  expect(await answers).toMatchObject([{ reason: { fault: "unreachable" } }, { value: "b" }]);
});

test("who waited too long was not sent and is told that the backend gives no answer, which nothing here repeats", async () => {
  const answers = Promise.allSettled([admit("a"), admit("b")]);
  nowMs = QUEUE_WAIT_MS_MAX + 1;
  const late = admit("c");
  answer(0);
  await turn();
  expect(sent.map(({ args }) => (args as { key?: string }).key)).toEqual(["a", "c"]);
  answer(1);
  expect(await answers).toMatchObject([{ value: "a" }, { reason: { fault: "unreachable" } }]);
  expect(await late).toBe("c");
});

test(`past ${WAITING_MAX} that wait for one key, the next is told at once`, async () => {
  void admit("first");
  const waiting = Array.from({ length: WAITING_MAX }, (_, index) => admit(`k${index}`));
  await expect(admit("one too many")).rejects.toMatchObject({ fault: "conflict" });
  expect(waiting).toHaveLength(WAITING_MAX);
});
