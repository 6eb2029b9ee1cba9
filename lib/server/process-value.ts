/**
 * A value that a process has once. It is kept on the process and not in a module: Next bundles its routes apart from the
 * front door, so each side has modules of its own.
 */
export interface ProcessValue<T> {
  /** Undefined as long as nobody has set it. */
  get(): T | undefined;
  set(value: T): T;
}

/** `name` is the same on both sides, and nobody else's. */
export function processValue<T extends object>(name: string): ProcessValue<T> {
  const key = Symbol.for(`holdfast.${name}`);
  const kept = globalThis as { [key]?: T };
  return {
    get: () => kept[key],
    set: (value) => (kept[key] = value),
  };
}
