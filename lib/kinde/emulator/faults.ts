/** Which faults are set, and which of them strike a request. In memory: a restart clears them. */
import { seededRandom, type Random } from "../../local-convex/random.ts";
import {
  ENDING_FAULTS,
  PASSING_FAULTS,
  SHAPE_FAULTS,
  WEBHOOK_ATTEMPT_FAULTS,
  WEBHOOK_WAY_FAULTS,
  type EndingFault,
  type FaultSettings,
  type PassingFault,
  type ShapeFault,
  type ShapeFaults,
} from "./fault-kinds.ts";

/** Kinds of fault that are remembered after they struck; there are not many more. */
const STRUCK_MAX = 20;
/** More than anyone needs, and few enough to look through at each request. */
export const FAULTS_MAX = 100;

export interface FaultView {
  readonly id: string;
  readonly settings: FaultSettings;
  readonly hits: number;
  /** Requests that it fitted, struck or not. */
  readonly seen: number;
}

/** A kind of fault that has struck, also when it is long off: a fault for one request is gone with it. */
export interface StruckView {
  readonly settings: FaultSettings;
  readonly hits: number;
  readonly lastAtMs: number;
}

export interface Strike {
  /** Names of all faults that struck, for the log. */
  readonly names: readonly string[];
  readonly passing: readonly { readonly fault: PassingFault; readonly settings: FaultSettings }[];
  readonly ending: { readonly fault: EndingFault; readonly settings: FaultSettings } | null;
  readonly shape: ShapeFaults;
}

export interface WebhookStrike<Fault> {
  readonly fault: Fault;
  readonly settings: FaultSettings;
  readonly share: number;
}

interface ActiveFault {
  readonly id: string;
  readonly settings: FaultSettings;
  readonly untilMs: number | null;
  readonly random: Random;
  hits: number;
  seen: number;
}

export class Faults {
  private active: ActiveFault[] = [];
  private nextNumber = 1;
  /** By what they strike and how, the one that struck last at the end. */
  private readonly struck = new Map<string, StruckView>();

  /** Returns its id, or null when there are too many. */
  add(settings: FaultSettings, nowMs: number): string | null {
    this.forgetEnded(nowMs);
    if (this.active.length >= FAULTS_MAX) return null;
    const id = `fault_${this.nextNumber++}`;
    const untilMs = settings.durationMs === undefined ? null : nowMs + settings.durationMs;
    this.active.push({ id, settings, untilMs, random: seededRandom(settings.seed), hits: 0, seen: 0 });
    return id;
  }

  /** Removes one, or all when no id is given. Returns how many went. */
  remove(id: string | null): number {
    const kept = id === null ? [] : this.active.filter((fault) => fault.id !== id);
    const removed = this.active.length - kept.length;
    this.active = kept;
    return removed;
  }

  list(nowMs: number): FaultView[] {
    this.forgetEnded(nowMs);
    return this.active.map(({ id, settings, hits, seen }) => ({ id, settings, hits, seen }));
  }

  /** What has struck since the start, the latest first. */
  listStruck(): StruckView[] {
    return [...this.struck.values()].toReversed();
  }

  /** Which strike a request. The first ending fault that strikes is the last to be asked. */
  strike(method: string, path: string, nowMs: number): Strike {
    const names: string[] = [];
    const passing: { fault: PassingFault; settings: FaultSettings }[] = [];
    const shape = new Map<ShapeFault, FaultSettings>();
    let ending: Strike["ending"] = null;
    const isAsked = ({ fault, endpoint }: FaultSettings) => !isWebhook(fault) && fits(endpoint, method, path);
    for (const { settings } of this.striking(nowMs, isAsked)) {
      const { fault } = settings;
      names.push(fault);
      if (isOneOf(ENDING_FAULTS, fault)) {
        ending = { fault, settings };
        break;
      }
      if (isOneOf(SHAPE_FAULTS, fault)) shape.set(fault, settings);
      else if (isOneOf(PASSING_FAULTS, fault)) passing.push({ fault, settings });
    }
    return { names, passing, ending, shape };
  }

  /** Which of some faults strike a webhook. `share` is drawn for each that does: 0 <= share < 1. */
  strikeWebhook<Fault extends FaultSettings["fault"]>(
    faults: readonly Fault[],
    webhook: { readonly path: string; readonly type: string },
    nowMs: number,
  ): WebhookStrike<Fault>[] {
    const isAsked = ({ fault, endpoint, eventTypes }: FaultSettings) =>
      isOneOf(faults, fault) &&
      fits(endpoint, "POST", webhook.path) &&
      (eventTypes === undefined || isOneOf(eventTypes, webhook.type));
    return [...this.striking(nowMs, isAsked)].map(({ settings, random }) => ({
      fault: settings.fault as Fault,
      settings,
      share: random.next(),
    }));
  }

  /**
   * Faults are asked in the order they were set, and each draws one random number for what it fits. So the outcome
   * depends on seeds and the order of requests only.
   */
  private *striking(nowMs: number, isAsked: (settings: FaultSettings) => boolean): Generator<ActiveFault> {
    this.forgetEnded(nowMs);
    for (const active of this.active) {
      if (!isAsked(active.settings)) continue;
      active.seen += 1;
      if (active.random.next() >= active.settings.probability) continue;
      active.hits += 1;
      this.remember(active.settings, nowMs);
      yield active;
    }
  }

  private remember(settings: FaultSettings, nowMs: number): void {
    const key = `${settings.fault} ${settings.endpoint}`;
    const hits = (this.struck.get(key)?.hits ?? 0) + 1;
    this.struck.delete(key);
    this.struck.set(key, { settings, hits, lastAtMs: nowMs });
    const [oldest] = this.struck.keys();
    if (this.struck.size > STRUCK_MAX && oldest !== undefined) this.struck.delete(oldest);
  }

  private forgetEnded(nowMs: number): void {
    this.active = this.active.filter(
      ({ settings, hits, untilMs }) =>
        (settings.count === undefined || hits < settings.count) && (untilMs === null || nowMs < untilMs),
    );
  }
}

export function fits(endpoint: string, method: string, path: string): boolean {
  const [wantedMethod, wantedPath] = endpoint.includes(" ") ? endpoint.split(" ") : [method, endpoint];
  if (wantedMethod !== method) return false;
  return wantedPath!.endsWith("*") ? path.startsWith(wantedPath!.slice(0, -1)) : path === wantedPath;
}

function isWebhook(fault: FaultSettings["fault"]): boolean {
  return isOneOf(WEBHOOK_WAY_FAULTS, fault) || isOneOf(WEBHOOK_ATTEMPT_FAULTS, fault);
}

function isOneOf<Name extends string>(names: readonly Name[], name: string): name is Name {
  return (names as readonly string[]).includes(name);
}
