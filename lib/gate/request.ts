import { SECOND_MS } from "../shared/durations.ts";
import { checkUnits, type OutOfRange } from "../shared/units.ts";
import { LEASE_MS_DEFAULT, LEASE_MS_MAX, LEASE_MS_MIN } from "./lease.ts";
import { KIND_DEFAULT, type RunnerPlan, type SettleOutcome } from "./types.ts";

/** Long enough for a UUID with a prefix or a content hash, short enough for an index key. */
export const KEY_LENGTH_MAX = 200;
export const KIND_LENGTH_MAX = 64;

/** A runner is a stand-in for a worker, not a batch system: ten thousand steps a minute apart is its end. */
export const RUNNER_STEPS_MAX = 10_000;
export const RUNNER_STEP_MS_MAX = 60 * SECOND_MS;

/** What a caller sends. Absent fields take their defaults in `parseRequest`. */
export interface RequestInput {
  readonly key: string;
  readonly units: number;
  readonly acceptUnits?: number | undefined;
  readonly kind?: string | undefined;
  readonly leaseMs?: number | undefined;
  readonly runner?:
    | {
        readonly steps: number;
        readonly stepUnits: number;
        readonly stepMs: number;
        readonly endAs?: SettleOutcome | undefined;
      }
    | undefined;
}

/** A request whose numbers were checked and whose defaults are filled in. */
export interface AdmissionRequest {
  readonly key: string;
  readonly units: number;
  /** The smallest hold the caller takes; null means the whole of `units`. */
  readonly acceptUnits: number | null;
  readonly kind: string;
  readonly leaseMs: number;
  readonly runner: RunnerPlan | null;
}

/** Checks every number and length of a request. The first one out of range is the refusal. */
export function parseRequest(input: RequestInput): AdmissionRequest | OutOfRange {
  const leaseMs = input.leaseMs ?? LEASE_MS_DEFAULT;
  const kind = input.kind ?? KIND_DEFAULT;
  const fault =
    checkLength("key", input.key, KEY_LENGTH_MAX) ??
    checkLength("kind", kind, KIND_LENGTH_MAX) ??
    checkUnits("units", input.units, { minimum: 1 }) ??
    checkAccept(input.acceptUnits, input.units) ??
    checkUnits("leaseMs", leaseMs, { minimum: LEASE_MS_MIN, maximum: LEASE_MS_MAX }) ??
    checkRunner(input.runner, leaseMs);
  if (fault !== null) return fault;
  const runner =
    input.runner === undefined ? null : { ...input.runner, endAs: input.runner.endAs ?? "completed" };
  return {
    key: input.key,
    units: input.units,
    acceptUnits: input.acceptUnits ?? null,
    kind,
    leaseMs,
    runner,
  };
}

/** What the places of a fingerprint stand for. */
const FINGERPRINT_FIELDS = ["units", "acceptUnits", "kind", "leaseMs", "runner"] as const;

/** Two requests with one key are the same request when these are equal. */
export function fingerprintOf(request: AdmissionRequest): string {
  const { units, acceptUnits, kind, leaseMs, runner } = request;
  const plan = runner === null ? null : [runner.steps, runner.stepUnits, runner.stepMs, runner.endAs];
  return JSON.stringify([units, acceptUnits, kind, leaseMs, plan]);
}

/** Where a request is not the one of a fingerprint: "units was 10000 and is 20000, kind was …", null meaning left out. */
export function differencesFrom(fingerprint: string, request: AdmissionRequest): string {
  const before = JSON.parse(fingerprint) as unknown[];
  const now = JSON.parse(fingerprintOf(request)) as unknown[];
  return FINGERPRINT_FIELDS.flatMap((field, place) => {
    const [was, is] = [JSON.stringify(before[place]), JSON.stringify(now[place])];
    return was === is ? [] : [`${field} was ${was} and is ${is}`];
  }).join(", ");
}

function checkLength(field: string, text: string, maximum: number): OutOfRange | null {
  if (text.length >= 1 && text.length <= maximum) return null;
  const message = `${field} must have 1 to ${maximum} characters`;
  return { code: "out_of_range", field, minimum: 1, maximum, message };
}

function checkAccept(acceptUnits: number | undefined, units: number): OutOfRange | null {
  return acceptUnits === undefined
    ? null
    : checkUnits("acceptUnits", acceptUnits, { minimum: 1, maximum: units });
}

function checkRunner(runner: RequestInput["runner"], leaseMs: number): OutOfRange | null {
  if (runner === undefined) return null;
  // A step has to land inside the lease that the step before it renewed, with room for a slow scheduler.
  const stepMsMax = Math.min(RUNNER_STEP_MS_MAX, Math.floor(leaseMs / 2));
  return (
    checkUnits("runner.steps", runner.steps, { minimum: 1, maximum: RUNNER_STEPS_MAX }) ??
    checkUnits("runner.stepUnits", runner.stepUnits) ??
    checkUnits("runner.stepMs", runner.stepMs, { maximum: stepMsMax })
  );
}
