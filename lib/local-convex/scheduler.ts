/**
 * Runs scheduled functions. A mutation's effects and its job's success are one commit, so it runs exactly once;
 * an action is marked inProgress first and never run again. Jobs carry no identity.
 */
import { FunctionError } from "./errors.ts";
import { toFunctionError } from "./function-call.ts";
import { SYSTEM_CALLER, type Invocation } from "./invocation.ts";
import { canonicalPath } from "./modules.ts";
import { functionName } from "./nested-call.ts";
import type { Runtime } from "./runtime.ts";
import {
  completedJobs,
  insertJob,
  jobsInProgress,
  jobsTable,
  pendingJobs,
  readJob,
  setJobState,
  type Job,
  type JobState,
} from "./scheduled-jobs.ts";
import type { Transaction } from "./transaction.ts";
import type { JsonObject } from "./values/json.ts";

/** Jobs running at one time; the rest stay pending in the database. */
const RUNNING_MAX = 64;
const KEEP_COMPLETED_MS = 7 * 24 * 3_600_000;
const CLEAN_EVERY_MS = 3_600_000;
const CLEAN_BATCH = 500;
const FIVE_YEARS_MS = 5 * 366 * 24 * 3_600_000;

export class Scheduler {
  private readonly running = new Set<string>();
  private looking = false;
  private lookAgain = false;
  private stopped = true;
  private cleanDueMs = 0;

  constructor(private readonly runtime: Runtime) {}

  /** Serves 1.0/schedule inside a mutation; returns the job id. */
  schedule(tx: Transaction, invocation: Invocation, args: JsonObject): string {
    const { runtime } = this;
    const jobArgs = (args["args"] ?? {}) as JsonObject;
    const dueMs = dueTimeMs(args["ts"] as number, tx.nowMs);
    const path = canonicalPath(functionName(args));
    const record = runtime.modules.functions.get(path);
    if (record === undefined) throw new Error(`Attempted to schedule function at nonexistent path: ${path}`);
    if (record.kind === "query") throw new Error(`Attempted to schedule a query: ${record.path}.`);
    tx.limits.countScheduled(JSON.stringify(jobArgs).length);
    const id = insertJob(tx, runtime.catalog, record.path, jobArgs, dueMs);
    if (invocation.scheduledFunctionId !== null)
      this.cancelWithParent(tx, invocation.scheduledFunctionId, id);
    return id;
  }

  /** Serves 1.0/cancel_job: jobs that have ended are left as they are. */
  cancel(tx: Transaction, args: JsonObject, ownId: string | null): void {
    const id = args["id"] as string;
    if (id === ownId) throw new Error("A mutation cannot cancel itself");
    const job = readJob(tx, this.runtime.catalog, id);
    if (job === null) throw new Error(`Cannot cancel: no scheduled function has the id ${id}`);
    if (job.state !== "pending" && job.state !== "inProgress") return;
    setJobState(tx, this.runtime.catalog, job, { kind: "canceled" }, tx.nowMs);
  }

  /** Marks what a dead process left unfinished, then starts running due jobs. */
  async start(): Promise<void> {
    const { catalog, executor } = this.runtime;
    await executor.mutation(async (tx) => {
      for (const job of jobsInProgress(tx, catalog, 10_000)) {
        setJobState(
          tx,
          catalog,
          job,
          { kind: "failed", error: "Transient error while executing action" },
          tx.nowMs,
        );
      }
    });
    this.stopped = false;
    this.poke();
  }

  stop(): void {
    this.stopped = true;
  }

  get busy(): boolean {
    return this.running.size > 0 || this.looking;
  }

  /** When the earliest waiting job is due, null when none waits. */
  async nextDueMs(): Promise<number | null> {
    const { catalog, executor } = this.runtime;
    const jobs = await executor.query(async (tx) => pendingJobs(tx, catalog, null, this.running.size + 1));
    return jobs.value.find((job) => !this.running.has(job.id))?.scheduledTimeMs ?? null;
  }

  /** Looks for due jobs now, and sets the timer for the next. Safe to call at any time. */
  poke(): void {
    if (this.stopped) return;
    if (this.looking) {
      this.lookAgain = true;
      return;
    }
    this.looking = true;
    void this.look().finally(() => {
      this.looking = false;
      if (this.lookAgain) {
        this.lookAgain = false;
        this.poke();
      }
    });
  }

  private async look(): Promise<void> {
    const { catalog, executor, clock } = this.runtime;
    try {
      const free = RUNNING_MAX - this.running.size;
      if (free > 0) {
        const nowMs = clock.nowMs();
        const found = await executor.query(async (tx) => pendingJobs(tx, catalog, nowMs, RUNNING_MAX * 2));
        for (const job of found.value.filter((due) => !this.running.has(due.id)).slice(0, free))
          this.launch(job);
      }
      const nextMs = await this.nextDueMs();
      if (nextMs !== null && this.running.size < RUNNING_MAX)
        this.runtime.timers.set("jobs", nextMs, () => this.poke());
      if (clock.nowMs() >= this.cleanDueMs) await this.clean();
    } catch (error) {
      if (!this.stopped) this.runtime.report("scheduler", error);
    }
  }

  private launch(job: Job): void {
    this.running.add(job.id);
    void this.runJob(job)
      .catch((error: unknown) => {
        if (!this.stopped) this.runtime.report(`scheduled ${job.name}`, error);
      })
      .finally(() => {
        this.running.delete(job.id);
        this.poke();
      });
  }

  private async runJob(job: Job): Promise<void> {
    const record = this.runtime.modules.functions.get(job.name);
    if (record === undefined)
      return this.finish(job, { kind: "failed", error: `${job.name} no longer exists` });
    if (record.kind === "action") return this.runAction(job);
    try {
      await this.runtime.runMutation(job.name, job.args, SYSTEM_CALLER, {
        scheduledFunctionId: job.id,
        // Nobody waits for it who would try again.
        retriesMax: Infinity,
        // False when it was cancelled in the meantime.
        before: async (tx) => readJob(tx, this.runtime.catalog, job.id)?.state === "pending",
        after: async (tx) => {
          const current = readJob(tx, this.runtime.catalog, job.id)!;
          setJobState(tx, this.runtime.catalog, current, { kind: "success" }, tx.nowMs);
        },
      });
    } catch (error) {
      const failure = toFunctionError(this.runtime, error);
      if (!(failure instanceof FunctionError)) throw failure;
      this.runtime.report(`scheduled ${job.name}`, failure);
      await this.finish(job, { kind: "failed", error: failure.message });
    }
  }

  private async runAction(job: Job): Promise<void> {
    const started = await this.move(job.id, "pending", { kind: "inProgress" });
    if (!started) return;
    let state: JobState = { kind: "success" };
    try {
      await this.runtime.runAction(job.name, job.args, SYSTEM_CALLER, { scheduledFunctionId: job.id });
    } catch (error) {
      state = { kind: "failed", error: toFunctionError(this.runtime, error).message };
      this.runtime.report(`scheduled ${job.name}`, error);
    }
    await this.move(job.id, "inProgress", state);
  }

  private async finish(job: Job, state: JobState): Promise<void> {
    await this.move(job.id, "pending", state);
  }

  /** Moves a job from one state to another; false when it was no longer in the first. */
  private async move(id: string, from: JobState["kind"], state: JobState): Promise<boolean> {
    const { catalog, executor } = this.runtime;
    const moved = await executor.mutation(async (tx) => {
      const job = readJob(tx, catalog, id);
      if (job === null || job.state !== from) return false;
      setJobState(tx, catalog, job, state, state.kind === "inProgress" ? null : tx.nowMs);
      return true;
    });
    return moved.value;
  }

  /** What a cancelled action still schedules is created as cancelled. */
  private cancelWithParent(tx: Transaction, parentId: string, id: string): void {
    const { catalog } = this.runtime;
    if (readJob(tx, catalog, parentId)?.state !== "canceled") return;
    setJobState(tx, catalog, readJob(tx, catalog, id)!, { kind: "canceled" }, tx.nowMs);
  }

  private async clean(): Promise<void> {
    const { catalog, executor, clock } = this.runtime;
    this.cleanDueMs = clock.nowMs() + CLEAN_EVERY_MS;
    for (let removed = CLEAN_BATCH; removed === CLEAN_BATCH && !this.stopped;) {
      const beforeMs = clock.nowMs() - KEEP_COMPLETED_MS;
      const result = await executor.mutation(async (tx) => {
        const jobs = completedJobs(tx, catalog, beforeMs, CLEAN_BATCH);
        for (const job of jobs) tx.update(jobsTable(catalog), job.internalId, job.document, null);
        return jobs.length;
      });
      removed = result.value;
    }
  }
}

/** Scheduled times cross the boundary in seconds; they must lie within five years. */
function dueTimeMs(ts: number, nowMs: number): number {
  const dueMs = ts * 1_000;
  if (!Number.isFinite(dueMs) || Math.abs(dueMs - nowMs) > FIVE_YEARS_MS) {
    throw new Error("The scheduled time must be within five years of now.");
  }
  return dueMs;
}
