import { getFunctionName } from "convex/server";
import { GATE_BATCH_MAX } from "../gate/batch.ts";
import { BackendError, QUEUE_WAIT_MS_MAX, type Caller, type ConvexGateway } from "./convex.ts";
import { convexApi, type Answered, type PublicFunction, type Sent } from "./convex-functions.ts";
import { processValue } from "./process-value.ts";

/** Calls that wait for one key. Past it the account is asked for more than its one budget row can take. */
export const WAITING_MAX = 1_000;

type GateCall = Sent<typeof convexApi.gateBatch.run>["calls"][number];

const GATE_CALLS: Readonly<Record<string, GateCall["call"]>> = {
  "gate:admit": "admit",
  "gate:charge": "charge",
  "gate:heartbeat": "heartbeat",
  "gate:extend": "extend",
  "gate:settle": "settle",
};

/** Of this process, since its start. */
export interface BatchCounts {
  /** Writes that went alone. */
  single: number;
  batches: number;
  /** Writes that went in one of them. */
  batched: number;
  /** Writes that were told to come again before they were sent. */
  turnedAway: number;
}

const kept = processValue<BatchCounts>("gate-batches");

export function batchCounts(): BatchCounts {
  return kept.get() ?? kept.set({ single: 0, batches: 0, batched: 0, turnedAway: 0 });
}

interface Waiting {
  readonly call: GateCall;
  readonly sinceMs: number;
  /** Sends the call alone. */
  readonly send: () => Promise<unknown>;
  readonly resolve: (answer: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * A gateway on which writes of one key to the gate travel together. The first goes at once and alone; those that come
 * while it is on its way are gathered and sent as one transaction (`gateBatch:run`) when it is back. They would have
 * met at the budget row of the account in any case: together they neither conflict nor pay for a transaction each.
 * Every caller has the answer that its call would have had alone. Other calls pass through.
 */
export function gatherGateCalls(gateway: ConvexGateway, nowMs: () => number): ConvexGateway {
  /** By key hash; a key is here while one of its calls is on its way. */
  const waitingByKey = new Map<string, Waiting[]>();

  const run = async (keyHash: string, first: () => Promise<unknown>): Promise<void> => {
    const waiting: Waiting[] = [];
    waitingByKey.set(keyHash, waiting);
    await first().catch(ignore);
    while (waiting.length > 0) await sendBatch(gateway, keyHash, takeBatch(waiting, nowMs()), nowMs);
    waitingByKey.delete(keyHash);
  };

  return {
    query: (...call) => gateway.query(...call),
    action: (...call) => gateway.action(...call),
    mutation<F extends PublicFunction<"mutation">>(ref: F, args: Sent<F>, caller?: Caller) {
      const name = GATE_CALLS[getFunctionName(ref)];
      const send = () => gateway.mutation(ref, args, caller);
      if (name === undefined || caller?.kind !== "key") return send();
      const waiting = waitingByKey.get(caller.keyHash);
      if (waiting === undefined) {
        const answer = send();
        batchCounts().single += 1;
        void run(caller.keyHash, () => answer);
        return answer;
      }
      if (waiting.length >= WAITING_MAX) return Promise.reject(tooMany());
      return new Promise<Answered<F>>((resolve, reject) => {
        const call = { call: name, ...args } as unknown as GateCall;
        waiting.push({ call, sinceMs: nowMs(), send, resolve, reject });
      });
    },
  };
}

/**
 * The calls of the next transaction. Admissions come last: what others give back they may have, and next to each other
 * they read and write their common rows once. Whoever has waited too long hears so now, however many wait: with a
 * backend that hangs, the next transaction would take as long as the one before it.
 */
function takeBatch(waiting: Waiting[], nowMs: number): Waiting[] {
  const inTime = withoutLate(waiting.splice(0), nowMs);
  const batch = inTime.splice(0, GATE_BATCH_MAX);
  waiting.push(...inTime);
  return batch.toSorted((a, b) => Number(a.call.call === "admit") - Number(b.call.call === "admit"));
}

/** Those that may still be sent. The others are told that they were not: nothing is known of a backend this slow. */
function withoutLate(calls: readonly Waiting[], nowMs: number): Waiting[] {
  return calls.filter((each) => {
    const isLate = nowMs - each.sinceMs > QUEUE_WAIT_MS_MAX;
    if (isLate) {
      batchCounts().turnedAway += 1;
      each.reject(
        new BackendError("unreachable", `not sent: its turn did not come in ${QUEUE_WAIT_MS_MAX} ms`),
      );
    }
    return !isLate;
  });
}

/** Settles every call of the batch. Never rejects. */
async function sendBatch(
  gateway: ConvexGateway,
  keyHash: string,
  batch: readonly Waiting[],
  nowMs: () => number,
): Promise<void> {
  if (batch.length <= 1) return await sendAlone(batch);
  try {
    const calls = batch.map(({ call }) => call);
    const answers = await gateway.mutation(convexApi.gateBatch.run, { calls }, { kind: "key", keyHash });
    const counts = batchCounts();
    counts.batches += 1;
    counts.batched += batch.length;
    for (const [index, each] of batch.entries()) each.resolve(answers[index]);
  } catch (error) {
    const fault = error instanceof BackendError ? error.fault : undefined;
    // Nothing was committed and one call may be the cause: each finds out for itself.
    if (fault === "refused" || fault === "failed" || fault === "contract") {
      return await sendAlone(withoutLate(batch, nowMs()));
    }
    for (const each of batch) each.reject(error);
  }
}

async function sendAlone(batch: readonly Waiting[]): Promise<void> {
  batchCounts().single += batch.length;
  await Promise.all(batch.map(({ send, resolve, reject }) => send().then(resolve, reject)));
}

/** A call that was not sent has changed nothing: like a conflict, it may be repeated. */
function tooMany(): BackendError {
  batchCounts().turnedAway += 1;
  return new BackendError("conflict", `too many calls of one key: ${WAITING_MAX} calls wait`);
}

const ignore = (): void => undefined;
