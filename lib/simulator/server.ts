/** Our server in a simulated world: it reaches the engine over a wire that loses things, and repeats what it may. */
import { conflictWaitMs } from "../gate/conflict-retry.ts";
import { SYSTEM_CALLER, type Caller } from "../local-convex/invocation.ts";
import type { Chance } from "./chance.ts";
import { isConflict, Lost, type CallKind, type Deployment } from "./deployment.ts";
import type { Faults } from "./faults.ts";
import type { Machine } from "./turns.ts";

export const SERVER_SECRET = "a".repeat(64);
export const OPERATOR_KEY_HASH = "0f".repeat(32);

const WIRE_MS_MAX = 4;
/** A caller whose answer was lost asks again this often, which outlasts a crash of the engine. */
const TRIES_MAX = 12;
const RETRY_MS_MAX = 1_500;

export class Server {
  constructor(
    readonly machine: Machine,
    private readonly deployment: Deployment,
    private readonly faults: Faults,
    private readonly chance: Chance,
  ) {}

  /** One call. Throws `Lost` when nothing came back. */
  async once<Answer>(
    kind: CallKind,
    path: string,
    args: object,
    caller: Caller = SYSTEM_CALLER,
  ): Promise<Answer> {
    const { machine, chance, faults } = this;
    await machine.sleep(chance.share() * WIRE_MS_MAX);
    if (chance.strikes(faults.lostRequest)) throw new Lost("the request was lost");
    const answer = await this.deployment.call<Answer>(kind, path, args, caller);
    await machine.sleep(chance.share() * WIRE_MS_MAX);
    if (chance.strikes(faults.lostReply)) throw new Lost("the reply was lost");
    return answer;
  }

  /** Until an answer comes, which it does in the end: only for what is safe to repeat. Null when nobody ever answered. */
  async call<Answer>(
    kind: CallKind,
    path: string,
    args: object,
    caller: Caller = SYSTEM_CALLER,
  ): Promise<Answer | null> {
    return this.repeated(() => this.once<Answer>(kind, path, args, caller));
  }

  /** With the key of an account, or of the operator. */
  as(keyHash: string) {
    const keys = { serverSecret: SERVER_SECRET, keyHash };
    return {
      query: <Answer>(path: string, args: object = {}) =>
        this.call<Answer>("query", path, { ...keys, ...args }),
      mutation: <Answer>(path: string, args: object = {}) =>
        this.call<Answer>("mutation", path, { ...keys, ...args }),
      action: <Answer>(path: string, args: object = {}) =>
        this.call<Answer>("action", path, { ...keys, ...args }),
    };
  }

  async repeated<Answer>(attempt: () => Promise<Answer>): Promise<Answer | null> {
    let conflicts = 0;
    for (let tries = 1; ; tries += 1) {
      try {
        return await attempt();
      } catch (error) {
        const isLost = error instanceof Lost;
        if (!isLost && !isConflict(error)) throw error;
        if (!isLost) conflicts += 1;
        const waitMs = isLost
          ? Math.ceil(this.chance.share() * RETRY_MS_MAX)
          : conflictWaitMs(conflicts, this.chance.share());
        if (waitMs === null || tries >= TRIES_MAX) return null;
        await this.machine.sleep(waitMs);
      }
    }
  }
}
