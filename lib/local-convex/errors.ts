/**
 * The three ways a call can fail, told apart because clients see them differently (facts: HTTP 200 with
 * `status: "error"` for a function that ran, another status with `{code, message}` for one that could not).
 */

/** The user's function threw, or broke a rule it could have kept. `data` is set only for a ConvexError. */
export class FunctionError extends Error {
  override readonly name = "FunctionError";
  /** Convex-encoded JSON, present only when the function threw a ConvexError. */
  readonly data?: unknown;
  /** What the function logged before it failed. */
  logLines: readonly string[] = [];
  /** The first line of `message` is `Uncaught <Name>: <text>`; stack lines follow. */
  constructor(message: string, options: { data?: unknown; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    if ("data" in options) this.data = options.data;
  }
}

/** A request that could not be run at all; `status` is its HTTP status, `code` is stable. */
export class RequestError extends Error {
  override readonly name = "RequestError";
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    options?: { cause?: unknown },
  ) {
    super(message, options);
  }
}

/** The database file cannot be used. The process says this one line and ends; nothing was overwritten. */
export class StorageError extends Error {
  override readonly name = "StorageError";
  constructor(
    readonly code:
      | "not_a_database"
      | "foreign_database"
      | "wrong_version"
      | "locked"
      | "corrupt"
      | "full"
      | "io",
    message: string,
    options?: { cause?: unknown },
  ) {
    super(message, options);
  }
}

/** Raised inside a transaction whose snapshot was overtaken; user code cannot keep it from ending the run. */
export class ConflictError extends Error {
  override readonly name = "ConflictError";
  constructor(readonly table: string) {
    super(
      `Documents read from or written to the "${table}" table changed while this mutation was being run and on ` +
        "every subsequent retry. See https://docs.convex.dev/error#1",
    );
  }
}

/** A part of Convex that this engine leaves out on purpose. One line, naming the part. */
export function notSupported(what: string): Error {
  return new Error(`${what} is not supported by local-convex. Use a Convex deployment for it.`);
}
