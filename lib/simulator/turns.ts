/**
 * The event loop of a simulated world. Everything that waits, in whatever part of it, waits here, and one seeded choice
 * decides what goes on next. Time is virtual: it moves only when nothing is left to do at this instant.
 */
import { AsyncResource } from "node:async_hooks";
import { setImmediate as realImmediate } from "node:timers/promises";

import type { EngineHost } from "../local-convex/host.ts";
import type { Chance } from "./chance.ts";

interface Task {
  readonly run: () => void;
  readonly machine: Machine;
  dueMs: number;
  readonly order: number;
  /** For intervals: the time from one run to the next. */
  readonly everyMs: number | null;
  isCancelled: boolean;
}

/** A thing that can be switched off with all that it was doing: what it waits for never comes. */
export interface Machine {
  readonly host: EngineHost;
  isOn(): boolean;
  sleep(ms: number): Promise<void>;
  turnOff(): void;
}

/** A slow machine lets a timer go first although something else is ready, this often. */
const TIMER_FIRST = 1 / 12;
/** By how much at most. */
const TIMER_FIRST_MS = 5;
const REAL_EVERY = 500;

export class Turns {
  /** Virtual milliseconds since the start. */
  elapsedMs = 0;
  /** How often something went on. */
  count = 0;
  private readonly ready: Task[] = [];
  private readonly timers: Task[] = [];
  private orders = 0;

  constructor(private readonly chance: Chance) {}

  /** `fetch` is what its functions reach the outside by. */
  machine(fetchFn: typeof fetch = noFetch): Machine {
    let isOn = true;
    const machine: Machine = {
      isOn: () => isOn,
      turnOff: () => {
        isOn = false;
      },
      sleep: (ms) =>
        new Promise((resolve) => {
          this.add(machine, resolve, ms, null);
        }),
      host: {
        elapsedMs: () => this.elapsedMs,
        cpuMs: () => this.elapsedMs,
        recentCpuMs: () => this.elapsedMs,
        setImmediate: (run) => void this.add(machine, run, null, null),
        setTimeout: (run, ms = 0) => this.add(machine, inContext(run), Math.max(1, ms), null),
        clearTimeout: cancel,
        setInterval: (run, ms = 0) => this.add(machine, inContext(run), Math.max(1, ms), ms),
        clearInterval: cancel,
        fetch: fetchFn,
      },
    };
    return machine;
  }

  /** Lets the world go on until `isDone` says so, or until nothing waits any more. */
  async drive(isDone: () => boolean): Promise<void> {
    while (!isDone()) {
      const task = this.next();
      if (task === null) return;
      this.count += 1;
      if (task.everyMs !== null) this.add(task.machine, task.run, task.everyMs, task.everyMs, task);
      task.run();
      // All promises that this set off are followed to where they wait for another turn: Node empties the queue of
      // promises before the next tick. A real turn now and then lets those live who watch this process.
      await (this.count % REAL_EVERY === 0 ? realImmediate() : nextTick());
    }
  }

  /** `again`: the interval task that this run is one of, so that cancelling it ends the row. */
  private add(
    machine: Machine,
    run: () => void,
    delayMs: number | null,
    everyMs: number | null,
    again?: Task,
  ): Task {
    const dueMs = this.elapsedMs + (delayMs ?? 0);
    if (again !== undefined) {
      again.dueMs = dueMs;
      push(this.timers, again);
      return again;
    }
    const task = { run, machine, dueMs, order: this.orders++, everyMs, isCancelled: false };
    if (delayMs === null) this.ready.push(task);
    else push(this.timers, task);
    return task;
  }

  private next(): Task | null {
    for (;;) {
      const timer = this.timers[0];
      const isTimerFirst =
        this.ready.length === 0 ||
        (timer !== undefined &&
          timer.dueMs <= this.elapsedMs + TIMER_FIRST_MS &&
          this.chance.strikes(TIMER_FIRST));
      const task = isTimerFirst ? this.takeTimer() : this.takeReady();
      if (task === null) return null;
      if (!task.isCancelled && task.machine.isOn()) return task;
    }
  }

  private takeTimer(): Task | null {
    const task = pop(this.timers);
    if (task === null) return null;
    // What is due by now has no order among itself but that of chance.
    this.elapsedMs = Math.max(this.elapsedMs, task.dueMs);
    return task;
  }

  private takeReady(): Task {
    const at = this.chance.below(this.ready.length);
    const task = this.ready[at]!;
    const last = this.ready.pop()!;
    if (last !== task) this.ready[at] = last;
    return task;
  }
}

/** As platform timers do it: what runs later belongs to the call that asked for it. */
function inContext(run: () => void): () => void {
  const context = new AsyncResource("turn");
  return () => context.runInAsyncScope(run);
}

/** Much cheaper than a real turn, which asks the system for events. */
function nextTick(): Promise<void> {
  return new Promise((resolve) => {
    process.nextTick(resolve);
  });
}

function cancel(timer: unknown): void {
  if (timer !== undefined && timer !== null) (timer as Task).isCancelled = true;
}

function noFetch(): never {
  throw new Error("this machine has no network");
}

/** The heap of what waits for a time: the earliest first, of one time the one that began to wait first. */
function isBefore(one: Task, other: Task): boolean {
  return one.dueMs === other.dueMs ? one.order < other.order : one.dueMs < other.dueMs;
}

function push(heap: Task[], task: Task): void {
  let at = heap.length;
  heap.push(task);
  while (at > 0) {
    const parent = (at - 1) >> 1;
    if (!isBefore(task, heap[parent]!)) break;
    heap[at] = heap[parent]!;
    at = parent;
  }
  heap[at] = task;
}

function pop(heap: Task[]): Task | null {
  const top = heap[0];
  const task = heap.pop();
  if (top === undefined || task === undefined) return null;
  if (heap.length === 0) return top;
  let at = 0;
  for (;;) {
    let child = 2 * at + 1;
    if (child >= heap.length) break;
    if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child += 1;
    if (!isBefore(heap[child]!, task)) break;
    heap[at] = heap[child]!;
    at = child;
  }
  heap[at] = task;
  return top;
}
