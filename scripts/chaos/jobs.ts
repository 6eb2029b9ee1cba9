// Jobs over HTTP: admitted under a key, charged in steps, extended, kept alive, settled; every repeat under the same key.
import type { Chance } from "../../lib/simulator/chance.ts";
import { type Customer, type Load, pause, sendUntilAnswered } from "./client.ts";
import { jobIn, type JobNote, type JobView } from "./journal.ts";
import type { Sent } from "./wire.ts";

const UNITS_MAX = 60;
const STEPS_MAX = 4;
/** Short, so that what is left running ends by itself soon after the load. */
const LEASES_MS = [10_000, 12_000, 20_000] as const;
const PAUSE_MS_MAX = 40;

/** How often a client does the less usual. */
const GIVES_UP = 0.1;
const ASKS_AGAIN = 0.2;
const DIES = 0.05;
const EXTENDS = 0.3;
const BEATS = 0.3;
const STATES_USE = 0.3;
const OUTCOMES = ["completed", "completed", "failed", "cancelled"] as const;

/** One job after the other until the run stops. */
export async function runJobs(load: Load, chance: Chance, lane: number, customers: readonly Customer[]) {
  for (let number = 1; !load.stopping.aborted; number++) {
    await new JobRun(load, chance, chance.pick(customers), `job-${lane}-${number}`).run();
    await pause(load, chance.below(PAUSE_MS_MAX));
  }
}

class JobRun {
  private readonly note: JobNote;

  constructor(
    private readonly load: Load,
    private readonly chance: Chance,
    private readonly customer: Customer,
    key: string,
  ) {
    const units = chance.between(1, UNITS_MAX);
    const { accountId } = customer;
    const none = { admitted: null, refused: false, steps: [], extensions: [], settle: null, ended: null };
    this.note = { accountId, key, units, ...none };
    load.journal.jobs.push(this.note);
  }

  async run(): Promise<void> {
    const { chance, note } = this;
    const job = await this.admit();
    if (job === null || job.status !== "running") return;
    const steps = chance.between(1, STEPS_MAX);
    for (let step = 1; step <= steps && note.ended === null; step++) {
      if (chance.strikes(DIES)) return;
      if (chance.strikes(EXTENDS)) await this.extend(job);
      if (note.ended !== null) break;
      if (chance.strikes(BEATS)) await this.beat(job);
      if (!(await this.charge(job, step, chance.between(1, Math.ceil(note.units / 2))))) return;
      await pause(this.load, chance.below(PAUSE_MS_MAX));
    }
    if (note.ended === null) await this.settle(job);
  }

  private async admit(): Promise<JobView | null> {
    const { chance, note, load } = this;
    const leaseMs = chance.pick(LEASES_MS);
    const request = this.post("/jobs", { key: note.key, units: note.units, leaseMs, kind: "chaos" });
    const answer = await sendUntilAnswered(load, chance, request, !chance.strikes(GIVES_UP));
    if (answer === null) return null;
    const job = jobIn(answer.body);
    if (answer.status !== 200 && answer.status !== 201) {
      note.refused = answer.status === 402 || answer.status === 429;
      if (!note.refused) this.strange("admission", answer);
      return null;
    }
    if (job === null) return this.strange("admission", answer);
    note.admitted = job;
    this.see(job);
    if (!chance.strikes(ASKS_AGAIN)) return job;
    const again = await sendUntilAnswered(load, chance, request);
    const same = jobIn(again?.body ?? null);
    if (again !== null && same?.id !== job.id) this.strange("the same admission again", again);
    this.see(same);
    return job;
  }

  /** False when no answer came: the client stops, and the lease ends the job. */
  private async charge({ id, fence }: JobView, step: number, units: number): Promise<boolean> {
    const { chance, note, load } = this;
    const line: JobNote["steps"][number] = { step, units, chargedUnits: null };
    note.steps.push(line);
    const request = this.post(`/jobs/${id}/charge`, { step, units, fence });
    for (let sends = chance.strikes(ASKS_AGAIN) ? 2 : 1; sends > 0 && note.ended === null; sends--) {
      const answer = await sendUntilAnswered(load, chance, request);
      if (answer === null) return false;
      if (answer.status === 200) {
        const charged = Number(answer.body?.["chargedUnits"]);
        if (line.chargedUnits !== null && line.chargedUnits !== charged) {
          this.strange(`step ${step} again`, answer);
        }
        line.chargedUnits = charged;
      } else if (answer.status !== 409) this.strange(`step ${step}`, answer);
      this.see(jobIn(answer.body));
      if (answer.status === 409 && note.ended === null) this.strange(`step ${step}`, answer);
    }
    return true;
  }

  private async extend({ id, fence }: JobView): Promise<void> {
    const units = this.chance.between(1, UNITS_MAX);
    const reply = await this.load.wire.send(this.post(`/jobs/${id}/extend`, { units, fence }));
    if (reply.kind === "answered") this.see(jobIn(reply.body));
    // Refused, or the job is lost: it is known not to be there.
    const isRefused = reply.kind === "answered" && reply.status >= 400 && reply.status < 500;
    if (isRefused || reply.kind === "not_sent") return;
    this.note.extensions.push({ units, answered: reply.kind === "answered" && reply.status === 200 });
  }

  private async beat({ id, fence }: JobView): Promise<void> {
    const reply = await this.load.wire.send(this.post(`/jobs/${id}/heartbeat`, { fence }));
    if (reply.kind === "answered") this.see(jobIn(reply.body));
  }

  private async settle({ id }: JobView): Promise<void> {
    const { chance, note, load } = this;
    const usedUnits = chance.strikes(STATES_USE) ? chance.below(note.units * 2) : null;
    const outcome = chance.pick(OUTCOMES);
    note.settle = { outcome, usedUnits };
    const body = { outcome, ...(usedUnits === null ? {} : { usedUnits }) };
    for (let sends = chance.strikes(ASKS_AGAIN) ? 2 : 1; sends > 0; sends--) {
      const answer = await sendUntilAnswered(load, chance, this.post(`/jobs/${id}/settle`, body));
      if (answer === null) return;
      const job = jobIn(answer.body);
      if (answer.status !== 200 || job === null || job.status === "running") this.strange("settle", answer);
      this.see(job);
    }
  }

  private see(job: JobView | null): void {
    if (job === null || job.status === "running") return;
    this.note.ended ??= job;
    const before = this.note.ended;
    if (before.status === job.status && before.usedUnits === job.usedUnits) return;
    this.load.journal.strange.push(
      `${job.key}: ended as ${before.status} with ${before.usedUnits} used, then as ${job.status} with ${job.usedUnits}`,
    );
  }

  private strange(what: string, { status, body }: { status: number; body: unknown }): null {
    const text = JSON.stringify(body).slice(0, 300);
    this.load.journal.strange.push(`${this.note.key}: ${what} was answered ${status}: ${text}`);
    return null;
  }

  private post(path: string, body: object): Sent {
    const { load, customer } = this;
    const headers = { authorization: `Bearer ${customer.token}` };
    return { method: "POST", url: `${load.apiUrl}${path}`, headers, body };
  }
}
