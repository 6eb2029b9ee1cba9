/** Our server in a simulated world: it reaches the engine over a wire that loses things, and repeats what it may. */
import { getFunctionName, makeFunctionReference } from "convex/server";

import { conflictWaitMs } from "../gate/conflict-retry.ts";
import { SYSTEM_CALLER, type Caller } from "../local-convex/invocation.ts";
import { BackendError, type ConvexGateway } from "../server/convex.ts";
import { gatherGateCalls } from "../server/gate-batches.ts";
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

/** What went wrong on the wire or in a function, as the gateway of the real server would class it. */
class WireFault extends BackendError {
  constructor(readonly original: unknown) {
    super(original instanceof Lost ? "unreachable" : isConflict(original) ? "conflict" : "failed", "wire");
  }
}

export class Server {
  /** As in the real server: writes to the gate that meet at one key travel together. */
  private readonly gateway: ConvexGateway;

  constructor(
    readonly machine: Machine,
    private readonly deployment: Deployment,
    private readonly faults: Faults,
    private readonly chance: Chance,
    nowMs: () => number,
  ) {
    this.gateway = gatherGateCalls(this.bareGateway(), nowMs);
  }

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
        this.repeated(() => this.gathered<Answer>(path, args, keyHash)),
      action: <Answer>(path: string, args: object = {}) =>
        this.call<Answer>("action", path, { ...keys, ...args }),
    };
  }

  private async gathered<Answer>(path: string, args: object, keyHash: string): Promise<Answer> {
    const mutation = makeFunctionReference<"mutation", never, Answer>(path);
    return await this.gateway.mutation(mutation, args as never, { kind: "key", keyHash });
  }

  private bareGateway(): ConvexGateway {
    const sender =
      (kind: CallKind): ConvexGateway["mutation"] =>
      async (ref, args, caller) => {
        const keyHash = caller?.kind === "key" ? caller.keyHash : undefined;
        try {
          return await this.once(kind, getFunctionName(ref), {
            serverSecret: SERVER_SECRET,
            keyHash,
            ...args,
          });
        } catch (error) {
          throw new WireFault(error);
        }
      };
    return {
      query: sender("query"),
      mutation: sender("mutation"),
      action: sender("action"),
    } as ConvexGateway;
  }

  async repeated<Answer>(attempt: () => Promise<Answer>): Promise<Answer | null> {
    let conflicts = 0;
    for (let tries = 1; ; tries += 1) {
      try {
        return await attempt();
      } catch (thrown) {
        const error = thrown instanceof WireFault ? thrown.original : thrown;
        const fault = error instanceof BackendError ? error.fault : undefined;
        // A call whose turn never came was not sent; its caller asks again as if its answer had been lost.
        const isLost = error instanceof Lost || fault === "unreachable";
        const isBusy = isConflict(error) || fault === "conflict";
        if (!isLost && !isBusy) throw error;
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
