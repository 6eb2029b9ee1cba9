/**
 * One client's connection: takes its messages in order and runs its mutations one at a time. Every answered
 * mutation, change of the query set and change of identity is followed by a transition, whether or not a result
 * changed: the client waits for it (facts §5.3).
 */
import type { WebSocket } from "ws";
import { FunctionError, RequestError } from "../errors.ts";
import type { Caller } from "../invocation.ts";
import type { CallResult, Runtime } from "../runtime.ts";
import type { Authenticate } from "./authenticate.ts";
import { clientText } from "./client-text.ts";
import type { LiveQueries } from "./live-queries.ts";
import type { MutationRecords } from "./mutation-records.ts";
import { Outbox } from "./outbox.ts";
import {
  failureText,
  parseClientMessage,
  ProtocolError,
  successText,
  type AuthenticateMessage,
  type CallMessage,
  type ClientMessage,
} from "./protocol.ts";
import { QuerySet } from "./query-set.ts";
import { Transitions } from "./transitions.ts";

/** What all connections share. */
export interface SyncHost {
  readonly runtime: Runtime;
  readonly live: LiveQueries;
  readonly records: MutationRecords;
  readonly authenticate: Authenticate;
  /** Wall clock: what tokens expire by. */
  readonly nowMs: () => number;
}

/** Who a message is from: a later sign-in changes nothing about it. */
interface SignIn {
  readonly caller: Caller;
  readonly expiresAtMs: number | null;
}

/** Mutations and actions of one connection that were not answered yet; as the backend's. */
const CALLS_WAITING_MAX = 1_000;

/** Close codes (RFC 6455) after which clients connect again. */
const CLOSE_NORMAL = 1000;
const CLOSE_BROKEN_PROTOCOL = 1008;
const CLOSE_FAILED = 1011;
const CLOSE_TRY_AGAIN = 1013;

export class Connection {
  readonly outbox: Outbox;
  lastHeardMs: number;
  private readonly queries: QuerySet;
  private readonly inbox: ClientMessage[] = [];
  private isReading = false;
  private readonly mutations: { message: CallMessage; signIn: SignIn }[] = [];
  private isMutating = false;
  private callsWaiting = 0;
  private sessionId: string | null = null;
  private signIn: SignIn;
  private readonly transitions: Transitions;
  private isClosed = false;

  constructor(
    private readonly host: SyncHost,
    private readonly socket: WebSocket,
    origin: Pick<Caller, "ip" | "userAgent">,
  ) {
    this.signIn = { caller: { admin: false, identity: null, ...origin }, expiresAtMs: null };
    this.outbox = new Outbox(socket, host.nowMs);
    this.lastHeardMs = host.nowMs();
    const { live, runtime } = host;
    this.queries = new QuerySet(live, () => this.transitions.update(false));
    this.transitions = new Transitions({
      runtime,
      live,
      queries: this.queries,
      outbox: this.outbox,
      mayRun: () => !this.hasExpired(this.signIn),
      onFailure: (error) => this.fail(error),
    });
    // Messages are Buffers: the binaryType of a new socket.
    socket.on("message", (data, isBinary) => this.receive((data as Buffer).toString(), isBinary));
    socket.on("pong", () => (this.lastHeardMs = host.nowMs()));
    // A broken frame or a lost connection: the close event follows.
    socket.on("error", () => undefined);
    socket.on("close", () => this.end());
  }

  /** Asks the client to go away, and to come back if it likes. `reason` has at most 123 bytes. */
  close(code: number, reason: string): void {
    this.end();
    this.socket.close(code, reason);
  }

  private end(): void {
    this.isClosed = true;
    this.transitions.stop();
    this.inbox.length = 0;
    this.mutations.length = 0;
    this.queries.clear();
  }

  private receive(text: string, isBinary: boolean): void {
    if (this.isClosed) return;
    this.lastHeardMs = this.host.nowMs();
    try {
      if (isBinary) throw new ProtocolError("Only text frames are understood.");
      const message = parseClientMessage(text);
      if (
        (message.type === "Mutation" || message.type === "Action") &&
        ++this.callsWaiting > CALLS_WAITING_MAX
      )
        return this.close(CLOSE_TRY_AGAIN, "TooManyConcurrentRequests");
      this.inbox.push(message);
    } catch (error) {
      return this.fail(error);
    }
    if (!this.isReading) void this.read();
  }

  /** Takes in messages one after another: what follows an Authenticate waits for its outcome. */
  private async read(): Promise<void> {
    this.isReading = true;
    try {
      for (let message = this.inbox.shift(); message !== undefined; message = this.inbox.shift()) {
        if (message.type === "Authenticate") await this.authenticate(message);
        else this.take(message);
      }
    } catch (error) {
      this.fail(error);
    } finally {
      this.isReading = false;
    }
  }

  private take(message: Exclude<ClientMessage, AuthenticateMessage>): void {
    switch (message.type) {
      case "Connect":
        return this.connect(message.sessionId, message.maxObservedTimestamp);
      case "ModifyQuerySet": {
        const { querySet } = this.transitions.asked;
        if (message.baseVersion !== querySet) {
          throw new ProtocolError(
            `Base version ${message.baseVersion} passed up doesn't match the current version ${querySet}`,
          );
        }
        if (message.newVersion <= querySet) throw new ProtocolError("The new version must be a later one.");
        this.transitions.asked.querySet = message.newVersion;
        this.queries.change(message.modifications, this.signIn.caller);
        return this.transitions.update(true);
      }
      case "Mutation":
        this.mutations.push({ message, signIn: this.signIn });
        if (!this.isMutating) void this.mutate();
        return;
      case "Action":
        void this.answer(message, this.signIn, (caller) =>
          this.host.runtime.runAction(message.udfPath, message.args, caller),
        );
        return;
      case "Event":
        return;
    }
  }

  private connect(sessionId: string, maxObservedTs: bigint | null): void {
    if (this.sessionId !== null) throw new ProtocolError("Connect was sent twice.");
    const { executor, clock } = this.host.runtime;
    const wallTs = BigInt(Math.floor(clock.nowMs())) * 1_000_000n;
    const newestTs = executor.timestamp > wallTs ? executor.timestamp : wallTs;
    if (maxObservedTs !== null && maxObservedTs > newestTs) {
      this.host.runtime.report("sync", "A client has seen a commit of the future; it is sent away.");
      return this.close(CLOSE_FAILED, "InternalServerError");
    }
    this.sessionId = sessionId;
  }

  private async authenticate(message: AuthenticateMessage): Promise<void> {
    const { baseVersion, tokenType, value, impersonating } = message;
    const { identity } = this.transitions.asked;
    if (baseVersion !== identity) {
      throw new ProtocolError(
        `Base version ${baseVersion} passed up doesn't match the current identity version ${identity}`,
      );
    }
    const found =
      tokenType === "None"
        ? { kind: "ok" as const, admin: false, identity: null, expiresAtMs: null }
        : await this.host.authenticate(tokenType, value, impersonating);
    if (this.isClosed) return;
    if (found.kind === "refused") return this.refuseToken(found.message, true);
    if (found.kind === "unavailable") {
      // A refusal would make the client take itself for signed out; sent away, it waits and tries again.
      this.host.runtime.report("sync", `A token could not be checked: ${found.message}`);
      return this.close(CLOSE_TRY_AGAIN, "AuthProviderUnavailable");
    }
    this.transitions.asked.identity = identity + 1;
    const { admin, expiresAtMs } = found;
    this.signIn = { caller: { ...this.signIn.caller, admin, identity: found.identity }, expiresAtMs };
    this.queries.changeCaller(this.signIn.caller);
    this.transitions.update(true);
  }

  /** The client compares `baseVersion` with its own count to see which of its tokens is meant. */
  private refuseToken(error: string, authUpdateAttempted: boolean): void {
    const baseVersion = this.transitions.sentIdentity;
    this.outbox.send(JSON.stringify({ type: "AuthError", error, baseVersion, authUpdateAttempted }));
    this.close(CLOSE_NORMAL, "AuthError");
  }

  /** True when the token ran out, which ends the connection. */
  private hasExpired({ expiresAtMs }: SignIn): boolean {
    if (expiresAtMs === null || this.host.nowMs() < expiresAtMs) return false;
    this.refuseToken("Convex token identity expired", false);
    return true;
  }

  private async mutate(): Promise<void> {
    this.isMutating = true;
    for (let next = this.mutations.shift(); next !== undefined; next = this.mutations.shift()) {
      const { message, signIn } = next;
      const { udfPath, args, requestId } = message;
      const { sessionId } = this;
      const { records, runtime } = this.host;
      await this.answer(message, signIn, (caller) =>
        sessionId === null
          ? runtime.runMutation(udfPath, args, caller)
          : records.run({ sessionId, requestId }, udfPath, args, caller),
      );
    }
    this.isMutating = false;
  }

  private async answer(
    call: CallMessage,
    signIn: SignIn,
    run: (caller: Caller) => Promise<CallResult>,
  ): Promise<void> {
    if (this.isClosed || this.hasExpired(signIn)) return;
    try {
      const { valueText, logLines, ts } = await run(signIn.caller);
      const isMutation = call.type === "Mutation";
      this.outbox.send(successText(call, valueText, logLines, isMutation ? ts : null));
      if (isMutation) this.transitions.update(true);
    } catch (error) {
      if (!(error instanceof FunctionError)) return this.fail(error);
      this.outbox.send(failureText(call, clientText(error.message), error.data, error.logLines));
    } finally {
      this.callsWaiting--;
    }
  }

  private fail(error: unknown): void {
    if (this.isClosed) return;
    if (error instanceof ProtocolError) {
      this.outbox.send(JSON.stringify({ type: "FatalError", error: error.message }));
      return this.close(CLOSE_BROKEN_PROTOCOL, "FatalError");
    }
    if (error instanceof RequestError) return this.close(CLOSE_TRY_AGAIN, error.code);
    this.host.runtime.report("sync", error);
    this.close(CLOSE_FAILED, "InternalServerError");
  }
}
