// The load of a soak: rounds of mixed work, each bounded, and finished before time jumps on. What was answered is
// counted, to be found again in the books.
import { type ApiClient, mustCall } from "../support/api-client.mjs";
import { createFollower, emptyClickTally } from "../support/follow-clicks.mjs";
import type { TempStack } from "../support/temp-stack.ts";
import type { Tenant } from "./customers.ts";

const CLICKS_A_ROUND = 12;
const UNITS = 100;
/** Every so many rounds: a worker that dies, a job too large for its limit, a start that is sent again, a reminder. */
const DIES_EVERY = 5;
const TOO_LARGE_EVERY = 3;
const REPEATED_EVERY = 4;
const REMINDER_EVERY = 25;
const REMINDER_DUE_IN_MS = 3_600_000;
const TOO_LARGE_UNITS = 900_000_000;

export interface Answered {
  jobs: number;
  refused: number;
  repeated: number;
  clicks: number;
  reminders: number;
  /** One line for each of the first answers that should not have been. */
  readonly faults: string[];
  failed: number;
}

const FAULTS_KEPT = 5;

type Follower = ReturnType<typeof createFollower>;

export class Load {
  readonly answered: Answered = {
    jobs: 0,
    refused: 0,
    repeated: 0,
    clicks: 0,
    reminders: 0,
    failed: 0,
    faults: [],
  };
  private readonly tally = emptyClickTally();
  private number = 0;

  constructor(
    private readonly stack: TempStack,
    private readonly client: ApiClient,
    private readonly tenants: readonly Tenant[],
  ) {}

  /** On connections of its own: one that was idle meanwhile may just be closed, and a click is never sent twice. */
  async round(number: number, nowMs: number): Promise<void> {
    const follower = createFollower({ url: this.stack.url, connections: 8, timeoutMs: 20_000 });
    const works = this.tenants.map((tenant, index) =>
      this.workOf(follower, tenant, { number, index, nowMs }),
    );
    await Promise.all(works);
    follower.close();
    this.answered.clicks = this.tally.redirected.size;
  }

  /** After the last round. */
  end(): void {
    const lost = this.tally.sent - this.tally.redirected.size;
    this.answered.failed += lost;
    this.answered.faults.push(...this.tally.faults);
  }

  private async workOf(
    follower: Follower,
    tenant: Tenant,
    round: { readonly number: number; readonly index: number; readonly nowMs: number },
  ): Promise<void> {
    const turn = round.number + round.index;
    const key = `soak-${round.number}`;
    const clicks = Array.from({ length: CLICKS_A_ROUND }, () =>
      follower.follow(this.tally, { code: tenant.code, runId: "soak", number: ++this.number }),
    );
    await Promise.all([...clicks, this.guarded(() => this.job(tenant, key, turn))]);
    if (turn % TOO_LARGE_EVERY === 0) await this.guarded(() => this.refusal(tenant, `${key}-large`));
    if (turn % REMINDER_EVERY === 0) await this.guarded(() => this.reminder(tenant, key, round.nowMs));
  }

  private async job({ token }: Tenant, key: string, turn: number): Promise<void> {
    const body = { key, units: UNITS, kind: "soak" };
    const started = await this.client.call({ method: "POST", path: "/jobs", token, body });
    // A plan that is used up refuses until the next cycle; that is an answer too.
    if (started.status === 402) this.answered.refused += 1;
    if (started.status === 402) return;
    if (started.status !== 201 && started.status !== 200)
      throw new Error(`POST /jobs answered ${started.status}: ${text(started.body)}`);
    this.answered.jobs += 1;
    const { id, fence } = started.body.job as { id: string; fence: number };
    const post = (path: string, more: object) =>
      mustCall(this.client, { method: "POST", path: `/jobs/${id}/${path}`, token, body: { fence, ...more } });
    await post("charge", { step: 1, units: UNITS / 2 });
    if (turn % DIES_EVERY === 0) return;
    await post("settle", { outcome: "completed", usedUnits: UNITS / 2 });
    if (turn % REPEATED_EVERY !== 0) return;
    const again = await mustCall(this.client, { method: "POST", path: "/jobs", token, body });
    if (again.job.id !== id) throw new Error(`the key ${key} started a second job`);
    this.answered.repeated += 1;
  }

  private async refusal({ token }: Tenant, key: string): Promise<void> {
    const body = { key, units: TOO_LARGE_UNITS, kind: "soak" };
    const { status, body: answer } = await this.client.call({ method: "POST", path: "/jobs", token, body });
    if (status !== 402) throw new Error(`a job beyond its limit was answered ${status}: ${text(answer)}`);
    this.answered.refused += 1;
  }

  private async reminder({ token }: Tenant, key: string, nowMs: number): Promise<void> {
    const body = { key, text: "soak", dueAtMs: nowMs + REMINDER_DUE_IN_MS };
    const { status } = await this.client.call({ method: "POST", path: "/reminders", token, body });
    if (status === 201 || status === 200) this.answered.reminders += 1;
  }

  private async guarded(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.answered.failed += 1;
      if (this.answered.faults.length < FAULTS_KEPT) this.answered.faults.push(String(error));
    }
  }
}

function text(body: unknown): string {
  return JSON.stringify(body).slice(0, 200);
}
