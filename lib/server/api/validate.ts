import type { z } from "zod";
import type { FieldError } from "../../shared/problem.ts";
import { ApiProblem } from "./answers.ts";

/** Faults named in one answer; a body of 64 KB could otherwise be answered with thousands. */
const ERRORS_MAX = 20;

/**
 * Checks a request against its schema. When every fault is a number outside its range the code is `out_of_range`,
 * with field, minimum and maximum; any other fault makes it `invalid`. Throws `ApiProblem`.
 */
export function validate<S extends z.ZodObject>(schema: S, input: unknown): z.output<S> {
  const result = schema.safeParse(input);
  if (result.success) {
    refuseHalfCharacters(result.data, []);
    return withoutNegativeZero(result.data);
  }
  const faults = result.error.issues.flatMap((issue) => toFaults(issue, schema, input));
  const errors = uniqueByPath(faults).slice(0, ERRORS_MAX);
  const [first] = faults;
  if (first?.range && faults.every((fault) => fault.range)) {
    throw new ApiProblem("out_of_range", `${first.path}: ${first.message}`, {
      errors,
      extra: { field: first.path, ...first.range },
    });
  }
  const detail = errors.map(({ path, message }) => (path ? `${path}: ${message}` : message)).join(" ");
  throw new ApiProblem("invalid", detail, { errors });
}

/**
 * Half of a surrogate pair is no text: JSON can carry one, no database takes it, and that would be found out long after
 * this request looked fine. What a schema let through is as deep as the schema. Throws `ApiProblem`.
 */
function refuseHalfCharacters(value: unknown, path: readonly string[]): void {
  if (typeof value === "string") {
    if (!/\p{Surrogate}/u.test(value)) return;
    const message = "Must be well-formed Unicode.";
    throw new ApiProblem("invalid", `${path.join(".")}: ${message}`, {
      errors: [{ path: path.join("."), message }],
    });
  }
  if (typeof value !== "object" || value === null) return;
  for (const [name, inner] of Object.entries(value)) refuseHalfCharacters(inner, [...path, name]);
}

interface Range {
  readonly minimum: number;
  readonly maximum: number;
}

interface Fault extends FieldError {
  readonly range?: Range;
}

function toFaults(issue: z.core.$ZodIssue, schema: z.ZodType, input: unknown): Fault[] {
  const path = issue.path.map(String);
  if (issue.code === "unrecognized_keys") {
    return issue.keys.map((key) => ({
      path: [...path, key].join("."),
      message: "This field is not known here.",
    }));
  }
  const range = numericRange(schema, issue.path);
  if (range && typeof valueAt(input, issue.path) === "number") {
    return [
      {
        path: path.join("."),
        message: `Must be a whole number from ${range.minimum} to ${range.maximum}.`,
        range,
      },
    ];
  }
  const missing = issue.code === "invalid_type" && valueAt(input, issue.path) === undefined;
  return [{ path: path.join("."), message: missing ? "This field is needed." : `${issue.message}.` }];
}

function valueAt(input: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (value, key) =>
      typeof value === "object" && value !== null && Object.hasOwn(value, key)
        ? (value as Record<PropertyKey, unknown>)[key]
        : undefined,
    input,
  );
}

/** The bounds that the schema sets for the number at `path`, or undefined when there is no number. */
function numericRange(schema: z.ZodType, path: readonly PropertyKey[]): Range | undefined {
  let node = unwrap(schema);
  for (const key of path) {
    const next = node.type === "object" ? (node as z.ZodObject).shape[String(key)] : undefined;
    if (!next) return undefined;
    node = unwrap(next);
  }
  if (node.type !== "number") return undefined;
  const { minValue, maxValue } = node as z.ZodNumber;
  return { minimum: minValue ?? Number.MIN_SAFE_INTEGER, maximum: maxValue ?? Number.MAX_SAFE_INTEGER };
}

function unwrap(schema: z.core.$ZodType): z.ZodType {
  let node = schema as z.ZodType;
  while (node.type === "optional" || node.type === "nullable" || node.type === "default") {
    node = (node as z.ZodOptional<z.ZodType>).unwrap();
  }
  return node;
}

function uniqueByPath(faults: readonly Fault[]): FieldError[] {
  const seen = new Map<string, FieldError>();
  for (const { path, message } of faults) if (!seen.has(path)) seen.set(path, { path, message });
  return [...seen.values()];
}

/** JSON can carry -0, which the backend would store as another value than 0. */
function withoutNegativeZero<T extends Record<string, unknown>>(value: T): T {
  for (const key of Object.keys(value)) {
    if (Object.is(value[key], -0)) (value as Record<string, unknown>)[key] = 0;
  }
  return value;
}
