import { expect, test } from "vitest";
import { afterReadBack, afterSend, type Reading, type SendOutcome } from "../../lib/ledger/report-outcome.ts";
import { LATE_WRITE_MS, NEVER_REPORTED, withResend } from "../../lib/ledger/report-state.ts";
import { nextStep, type Step } from "../../lib/ledger/report.ts";
import { assert } from "../../lib/shared/assert.ts";
import { seededRandom } from "../helpers/random-values.ts";

const CLOSES = Number.MAX_SAFE_INTEGER;
/** Two jumps within the wait for one doubtful write are more than the reporter can tell. */
const JUMPS_APART_MS = 3 * LATE_WRITE_MS;
const METER = { agreementId: "agreement_1", closesAtMs: CLOSES };

interface Sender {
  readonly step: Extract<Step, { kind: "send" }>;
  /** What its write comes to, once it has started. */
  outcome: SendOutcome | null;
}

interface Reader {
  readonly version: number;
  readonly sentAtMs: number;
  readonly reading: Reading;
}

/**
 * One meter, any number of workers that claim, pause, crash and answer in any order, and a provider that loses writes,
 * refuses them, or applies them up to `LATE_WRITE_MS` after they started. Now and then our clock, and it alone, is set
 * forward by up to an hour.
 */
class World {
  nowMs = 1_000_000;
  ledgerUnits = 0;
  providerUnits = 0;
  state = NEVER_REPORTED;
  senders: Sender[] = [];
  readers: Reader[] = [];
  underWay: { readonly atMs: number; readonly totalUnits: number }[] = [];
  /** Versions in the order in which their writes started. */
  readonly started: number[] = [];
  claims = 0;
  nextJumpMs = 0;

  /** `traffic`: the share of chances for a click that bring one. Where there is little, much is said to be done. */
  constructor(
    readonly random: () => number,
    readonly traffic: number,
  ) {}

  below(limit: number): number {
    return Math.floor(this.random() * limit);
  }

  pass(ms: number): void {
    this.nowMs += ms;
    const landed = this.underWay.filter(({ atMs }) => atMs <= this.nowMs).toSorted((a, b) => a.atMs - b.atMs);
    this.underWay = this.underWay.filter(({ atMs }) => atMs > this.nowMs);
    for (const { totalUnits } of landed) this.providerUnits = totalUnits;
  }

  /** What is under way at the provider does not come sooner for that. */
  jump(): void {
    const ms = this.below(3_600_000);
    this.nowMs += ms;
    this.nextJumpMs = this.nowMs + JUMPS_APART_MS;
    this.underWay = this.underWay.map((write) => ({ ...write, atMs: write.atMs + ms }));
  }

  /** A worker looks at the mark. What was said to be done has to be so, now and for good. */
  takeMark(): Step {
    const step = nextStep(this.state, METER, this.ledgerUnits, this.nowMs);
    if (step.kind === "send") {
      this.state = step.state;
      this.senders.push({ step, outcome: null });
      this.claims++;
    }
    if (step.kind === "read_back") {
      this.state = step.state;
      const reading: Reading =
        this.random() < 0.8
          ? { kind: "read", totalUnits: this.providerUnits }
          : { kind: "unreadable", error: "503" };
      this.readers.push({ version: step.version, sentAtMs: this.nowMs, reading });
    }
    if (step.kind === "done") {
      assert(this.providerUnits === this.ledgerUnits, `done at ${this.providerUnits} of ${this.ledgerUnits}`);
      assert(this.underWay.length === 0, `done while ${this.underWay.length} writes may land`);
    }
    return step;
  }

  /** The write goes out, if the clock still allows it. `faults` false: it is applied and answered. */
  start(sender: Sender, faults: boolean): void {
    const { totalUnits, version, startBeforeMs } = sender.step;
    if (this.nowMs >= startBeforeMs) {
      sender.outcome = { kind: "not_started" };
      return;
    }
    this.started.push(version);
    const fate = faults ? this.below(5) : 0;
    const unknown: SendOutcome = { kind: "unknown", retryAfterMs: null, error: "timeout" };
    if (fate <= 1) this.providerUnits = totalUnits;
    if (fate === 2) this.underWay.push({ atMs: this.nowMs + this.below(LATE_WRITE_MS), totalUnits });
    sender.outcome =
      fate === 0
        ? { kind: "confirmed" }
        : fate === 4
          ? { kind: "failed", retryAfterMs: null, error: "429" }
          : unknown;
  }

  answer(sender: Sender): void {
    this.senders = this.senders.filter((other) => other !== sender);
    const result = afterSend(this.state, sender.step.version, sender.outcome!, METER, this.nowMs);
    if (result.kind === "settled") this.state = result.state;
  }

  answerRead(reader: Reader): void {
    this.readers = this.readers.filter((other) => other !== reader);
    const result = afterReadBack(this.state, reader.version, reader, this.nowMs);
    if (result.kind === "settled") this.state = result.state;
  }

  act(): void {
    const sender = this.senders[this.below(this.senders.length)];
    const reader = this.readers[this.below(this.readers.length)];
    switch (this.below(8)) {
      case 0:
      case 1:
        if (this.random() < this.traffic)
          this.ledgerUnits = Math.max(0, this.ledgerUnits + this.below(5) - 1);
        break;
      case 2:
      case 3:
        this.takeMark();
        break;
      case 4:
      case 5:
        if (sender !== undefined && sender.outcome === null) this.start(sender, true);
        else if (sender !== undefined) this.answer(sender);
        break;
      case 6:
        if (reader !== undefined) this.answerRead(reader);
        break;
      default:
        if (this.random() < 0.3) this.senders = this.senders.filter((other) => other !== sender);
        else if (this.random() < 0.2) this.state = withResend(this.state);
    }
    const chance = this.underWay.length > 0 ? 0.3 : 0.02;
    if (this.nowMs >= this.nextJumpMs && this.random() < chance) this.jump();
    this.pass(this.random() < 0.9 ? this.below(3_000) : this.below(60_000));
  }

  /** No more faults: the senders and readers that are left die, and one worker goes on until there is no mark. */
  settle(): void {
    this.senders = [];
    this.readers = [];
    for (let steps = 0; steps < 100; steps++) {
      const step = this.takeMark();
      if (step.kind === "done") return;
      if (step.kind === "wait") this.pass(step.untilMs - this.nowMs);
      for (const sender of this.senders) {
        this.start(sender, false);
        this.answer(sender);
      }
      for (const reader of this.readers) this.answerRead(reader);
    }
    throw new Error("the meter is still marked after 100 steps without a fault");
  }
}

test("B24, B45, B46: in any interleaving no older total starts after a newer one, and the meter ends equal", () => {
  let started = 0;
  for (let seed = 1; seed <= 400; seed++) {
    const world = new World(seededRandom(seed), seed % 2 === 0 ? 1 : 0.1);
    for (let i = 0; i < 150; i++) world.act();
    world.settle();
    expect(world.started).toEqual(world.started.toSorted((a, b) => a - b));
    expect(new Set(world.started).size).toBe(world.started.length);
    expect([world.providerUnits, world.state.confirmed?.totalUnits ?? 0]).toEqual([
      world.ledgerUnits,
      world.ledgerUnits,
    ]);
    started += world.started.length;
  }
  expect(started).toBeGreaterThan(2_000);
});
