/** An impossible state was reached: a fault of this program, never of its caller. */
export class AssertionError extends Error {
  readonly code = "assertion_failed";
  override readonly name = "AssertionError";
}

/** Throws `AssertionError` with the given message when `condition` is false. Put the values in the message. */
export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new AssertionError(message);
}

/** Returns `value`, or throws when it is null or undefined. */
export function must<T>(value: T | null | undefined, message: string): T {
  assert(value !== null && value !== undefined, message);
  return value;
}

/** Ends a switch over a closed union: the compiler proves it unreachable, the runtime checks it. */
export function unreachable(value: never): never {
  throw new AssertionError(`unexpected value ${JSON.stringify(value)}`);
}
