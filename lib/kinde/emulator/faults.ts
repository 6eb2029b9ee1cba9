/** Which faults are set, and which of them strike a request. In memory: a restart clears them. */
import { seededRandom, type Random } from "../../local-convex/random.ts";
import {
  ENDING_FAULTS,
  SHAPE_FAULTS,
  type EndingFault,
  type FaultSettings,
  type PassingFault,
  type ShapeFault,
  type ShapeFaults,
} from "./fault-kinds.ts";

/** More than anyone needs, and few enough to look through at each request. */
export const FAULTS_MAX = 100;

export interface FaultView {
  readonly id: string;
  readonly settings: FaultSettings;
  readonly hits: number;
  /** Requests that it fitted, struck or not. */
  readonly seen: number;
}

export interface Strike {
  /** Names of all faults that struck, for the log. */
  readonly names: readonly string[];
  readonly passing: readonly { readonly fault: PassingFault; readonly settings: FaultSettings }[];
  readonly ending: { readonly fault: EndingFault; readonly settings: FaultSettings } | null;
  readonly shape: ShapeFaults;
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

  /**
   * Faults are asked in the order they were set, each draws one random number for a request it fits, and the first
   * ending fault that strikes is the last to be asked. So the outcome depends on seeds and the order of requests only.
   */
  strike(method: string, path: string, nowMs: number): Strike {
    this.forgetEnded(nowMs);
    const names: string[] = [];
    const passing: { fault: PassingFault; settings: FaultSettings }[] = [];
    const shape = new Map<ShapeFault, FaultSettings>();
    let ending: Strike["ending"] = null;
    for (const active of this.active) {
      const { settings } = active;
      if (!fits(settings.endpoint, method, path)) continue;
      active.seen += 1;
      if (active.random.next() >= settings.probability) continue;
      active.hits += 1;
      names.push(settings.fault);
      if (isEnding(settings.fault)) {
        ending = { fault: settings.fault, settings };
        break;
      }
      if (isShape(settings.fault)) shape.set(settings.fault, settings);
      else passing.push({ fault: settings.fault, settings });
    }
    return { names, passing, ending, shape };
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

function isEnding(fault: FaultSettings["fault"]): fault is EndingFault {
  return (ENDING_FAULTS as readonly string[]).includes(fault);
}

function isShape(fault: FaultSettings["fault"]): fault is ShapeFault {
  return (SHAPE_FAULTS as readonly string[]).includes(fault);
}
