import { expect } from "vitest";

import type { Backend } from "./backend.ts";
import { deliver, type EventRow, settle } from "./inbox.ts";
import type { CrashKind, InboxCrash } from "./inbox-crash.ts";
import type { Body } from "./inbox-customers.ts";

/** One customer and what comes of them, in its order; the crash is in the first delivery of an event. */
export interface Run {
  readonly customer: string;
  readonly deliveries: readonly Body[];
  readonly crash: { readonly step: number; readonly kind: CrashKind; readonly atWrite: number } | null;
}

/**
 * Delivers the first of every run, then the second, and so on; the clock moves on by `gapMs` between them, and a minute
 * at the end. Runs have customers of their own and go on side by side; one whose worker crashes is alone meanwhile.
 */
export async function play(
  backend: Backend,
  crash: InboxCrash,
  runs: readonly Run[],
  gapMs: number,
): Promise<void> {
  const steps = Math.max(...runs.map(({ deliveries }) => deliveries.length));
  for (let step = 0; step < steps; step += 1) {
    const going = runs.filter(({ deliveries }) => step < deliveries.length);
    const well = going.filter((run) => run.crash?.step !== step);
    await Promise.all(well.map(({ deliveries }) => deliver(backend, deliveries[step])));
    await settle(backend);
    for (const run of going) {
      if (run.crash?.step === step) await crashOne(backend, crash, run.deliveries[step]!, run.crash);
    }
    await backend.advanceMs(gapMs);
    // What has become due meanwhile is done, so that the next crash meets the event that it is meant for.
    await backend.action("inboxWorker:kick", {});
  }
  await backend.advanceMs(60_000);
}

async function crashOne(
  backend: Backend,
  crash: InboxCrash,
  body: Body,
  { kind, atWrite }: NonNullable<Run["crash"]>,
): Promise<void> {
  crash.arm(kind, atWrite);
  await deliver(backend, body);
  await settle(backend);
  expect(crash.isArmed).toBe(false);
}

/** Every event came to its end. Returns them. */
export async function expectAllDone(engine: Backend): Promise<EventRow[]> {
  const events = await engine.readAll<EventRow>("inboxEvents");
  const open = events.filter(({ status }) => status !== "applied" && status !== "ignored");
  expect(open).toEqual([]);
  return events;
}
