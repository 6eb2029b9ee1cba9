import { checkUnits, UNITS_MAX } from "../shared/units.ts";

/* What a Concurrency Lab run may be asked for. The functions, the screen and the command judge by the same numbers. */

export interface LabForm {
  /** Jobs that start at the same moment. */
  readonly jobs: number;
  /** Units that each of them spends, in `steps` equal steps of `stepMs`. */
  readonly units: number;
  readonly limitUnits: number;
  readonly steps: number;
  readonly stepMs: number;
}

export const LAB_JOBS_MAX = 50;
export const LAB_STEPS_MAX = 50;
/** Of all jobs of one side together: each is a transaction and a line of the record. */
export const LAB_STEPS_OF_ALL_MAX = 500;
/** Lanes of one run start within one tick of the scheduler; a step has to be longer than that to be a step. */
export const LAB_STEP_MS_MIN = 20;
export const LAB_STEP_MS_MAX = 5_000;

const NAMES: Readonly<Record<keyof LabForm, string>> = {
  jobs: "jobs",
  units: "units of each job",
  limitUnits: "limit",
  steps: "steps of each job",
  stepMs: "milliseconds of a step",
};

export interface LabFault {
  readonly field: keyof LabForm;
  readonly message: string;
}

/** The first thing that is wrong with a form, or null. */
export function checkLab({ jobs, units, limitUnits, steps, stepMs }: LabForm): LabFault | null {
  const fault =
    outOfRange("jobs", jobs, 1, LAB_JOBS_MAX) ??
    outOfRange("steps", steps, 1, LAB_STEPS_MAX) ??
    outOfRange("stepMs", stepMs, LAB_STEP_MS_MIN, LAB_STEP_MS_MAX) ??
    outOfRange("units", units, 1, UNITS_MAX) ??
    outOfRange("limitUnits", limitUnits, 0, UNITS_MAX);
  if (fault !== null) return fault;
  if (units % steps !== 0) {
    const near = Math.max(1, Math.round(units / steps)) * steps;
    return {
      field: "units",
      message: `units must divide into ${steps} equal steps: ${count(units)} does not, ${count(near)} does`,
    };
  }
  if (jobs * units > UNITS_MAX) return { field: "units", message: "jobs * units must stay below 2^53" };
  if (jobs * steps > LAB_STEPS_OF_ALL_MAX) {
    const stepsMax = Math.floor(LAB_STEPS_OF_ALL_MAX / jobs);
    return { field: "steps", message: `with ${jobs} jobs, steps of each job may be ${stepsMax} at most` };
  }
  return null;
}

function outOfRange(field: keyof LabForm, value: number, minimum: number, maximum: number): LabFault | null {
  if (checkUnits(field, value, { minimum, maximum }) === null) return null;
  const range = `from ${count(minimum)} to ${count(maximum)}`;
  return { field, message: `${NAMES[field]} must be a whole number ${range}` };
}

const count = (units: number): string => units.toLocaleString("en-US");
