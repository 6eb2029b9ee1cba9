import { isRecord } from "./event.ts";

/** A field that an event has to have is not there or is something else. Trying again cannot help. */
export class EventFieldError extends Error {
  readonly code = "event_field";
  override readonly name = "EventFieldError";

  constructor(
    /** Where in the body: "data.plan.key". */
    readonly path: string,
    message: string,
  ) {
    super(`${path}: ${message}`);
  }
}

type Fields = Readonly<Record<string, unknown>>;

/** Null when it is missing or null. @throws EventFieldError when it is something else than an object */
export function optionalObject(parent: Fields, path: string): Fields | null {
  const value = at(parent, path);
  if (value === undefined || value === null) return null;
  if (!isRecord(value)) throw new EventFieldError(path, "is not an object");
  return value;
}

/** @throws EventFieldError when it is missing or something else than an object */
export function object(parent: Fields, path: string): Fields {
  const found = optionalObject(parent, path);
  if (found === null) throw new EventFieldError(path, "is missing");
  return found;
}

/**
 * Null when it is missing or null. A number in place of a text is not turned into one: 12 and "12" could be two
 * customers. @throws EventFieldError when it is something else than a text with something in it
 */
export function optionalText(parent: Fields, path: string): string | null {
  const value = at(parent, path);
  if (value === undefined || value === null) return null;
  if (typeof value !== "string" || value === "") throw new EventFieldError(path, "is not a text");
  return value;
}

/** @throws EventFieldError when it is missing or something else than a text with something in it */
export function text(parent: Fields, path: string): string {
  const found = optionalText(parent, path);
  if (found === null) throw new EventFieldError(path, "is missing");
  return found;
}

/** The last name of the path, in its parent. */
function at(parent: Fields, path: string): unknown {
  const name = path.slice(path.lastIndexOf(".") + 1);
  return Object.hasOwn(parent, name) ? parent[name] : undefined;
}
