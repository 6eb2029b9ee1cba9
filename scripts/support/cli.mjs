// Command lines: options with types and bounds, a help text made from them, and errors that are one clear line.
// Plain JavaScript because load.mjs and worker.mjs run without a TypeScript loader.
import { parseArgs } from "node:util";

/**
 * @typedef {{type: "integer", minimum?: number, maximum?: number, default?: number, help: string}} IntegerOption
 * @typedef {{type: "number", minimum?: number, maximum?: number, default?: number, help: string}} NumberOption
 * @typedef {{type: "string", default?: string, help: string}} StringOption
 * @typedef {{type: "url", default?: string, help: string}} UrlOption
 * @typedef {{type: "duration", default?: number, help: string}} DurationOption  the value is milliseconds
 * @typedef {{type: "boolean", help: string}} BooleanOption
 * @typedef {IntegerOption | NumberOption | StringOption | UrlOption | DurationOption | BooleanOption} OptionSpec
 * @typedef {Record<string, OptionSpec>} OptionSpecs
 */

/**
 * What an option's value is: a boolean is always there, a default makes the others always there.
 * @template {OptionSpec} O
 * @typedef {O extends BooleanOption ? boolean
 *   : O extends IntegerOption | NumberOption | DurationOption
 *     ? (O extends {default: number} ? number : number | undefined)
 *     : (O extends {default: string} ? string : string | undefined)} OptionValue
 */

/** A fault the person at the terminal can mend. Shown as one line; the process ends with `exitCode`. */
export class CliError extends Error {
  /**
   * @param {string} message
   * @param {{exitCode?: number, cause?: unknown}} [options]
   */
  constructor(message, { exitCode = 1, cause } = {}) {
    super(message, { cause });
    this.name = "CliError";
    this.exitCode = exitCode;
  }
}

/** Exit code of a command line that is not understood. */
const EXIT_USAGE = 2;

/** @param {string} message */
export function usageError(message) {
  return new CliError(message, { exitCode: EXIT_USAGE });
}

/**
 * Reads `argv` (without node and the script). Names are given and returned in kebab-case, without the dashes.
 * Throws CliError with exit code 2 for an unknown option, a missing value or a value out of bounds.
 * @template {OptionSpecs} const S
 * @param {S} specs
 * @param {readonly string[]} argv
 * @returns {{[K in keyof S]: OptionValue<S[K]>} & {help: boolean}}
 */
export function parseOptions(specs, argv) {
  const raw = rawValues(specs, argv);
  /** @type {Record<string, unknown>} */
  const values = { help: raw.help === true };
  for (const [name, spec] of Object.entries(specs)) {
    const text = raw[name];
    if (spec.type === "boolean") values[name] = text === true;
    else values[name] = typeof text === "string" ? parseValue(name, spec, text) : spec.default;
  }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the loop above is what the type says
  return /** @type {any} */ (values);
}

/**
 * @param {OptionSpecs} specs
 * @param {readonly string[]} argv
 * @returns {Record<string, string | boolean | undefined>}
 */
function rawValues(specs, argv) {
  /** @type {Record<string, {type: "string" | "boolean", short?: string}>} */
  const options = { help: { type: "boolean", short: "h" } };
  for (const [name, spec] of Object.entries(specs)) {
    options[name] = { type: spec.type === "boolean" ? "boolean" : "string" };
  }
  try {
    return parseArgs({ args: [...argv], options, allowPositionals: false }).values;
  } catch (error) {
    throw usageError(argumentFault(error, argv));
  }
}

/**
 * parseArgs explains over several sentences; the first one, with the option named, is enough.
 * @param {unknown} error
 * @param {readonly string[]} argv
 */
function argumentFault(error, argv) {
  const message = error instanceof Error ? error.message : String(error);
  const option = /'(-[^ '=]+)/.exec(message)?.[1] ?? argv.find((word) => !word.startsWith("-")) ?? "";
  if (message.startsWith("Unknown option")) return `unknown option ${option} (--help lists them)`;
  if (message.startsWith("Unexpected argument"))
    return `unexpected argument ${/'([^']*)'/.exec(message)?.[1]}`;
  if (message.includes("does not take an argument")) return `${option} takes no value`;
  return `${option} needs a value`;
}

/**
 * @param {string} name
 * @param {Exclude<OptionSpec, BooleanOption>} spec
 * @param {string} text
 */
function parseValue(name, spec, text) {
  switch (spec.type) {
    case "integer":
      if (!/^-?\d+$/.test(text)) throw usageError(`--${name} must be a whole number, not "${text}"`);
      return inBounds(name, spec, Number(text));
    case "number":
      if (!/^-?\d+(\.\d+)?$/.test(text)) throw usageError(`--${name} must be a number, not "${text}"`);
      return inBounds(name, spec, Number(text));
    case "duration":
      return parseDuration(name, text);
    case "url":
      return parseUrl(name, text);
    default:
      if (text === "") throw usageError(`--${name} must not be empty`);
      return text;
  }
}

/**
 * @param {string} name
 * @param {{minimum?: number, maximum?: number}} bounds
 * @param {number} value
 */
function inBounds(name, { minimum = 0, maximum = Number.MAX_SAFE_INTEGER }, value) {
  if (value < minimum || value > maximum) {
    throw usageError(`--${name} must be from ${minimum} to ${maximum}, not ${value}`);
  }
  return value;
}

/** @type {ReadonlyMap<string | undefined, number>} */
const UNIT_MS = new Map([
  ["ms", 1],
  ["s", 1000],
  ["m", 60_000],
  ["h", 3_600_000],
  ["d", 86_400_000],
]);

/**
 * @param {string} name
 * @param {string} text
 */
function parseDuration(name, text) {
  const match = /^(\d+)(ms|s|m|h|d)$/.exec(text);
  const unitMs = UNIT_MS.get(match?.[2]);
  if (!match || !unitMs) {
    throw usageError(`--${name} must be a duration such as 500ms, 30s, 10m, 2h or 1d, not "${text}"`);
  }
  return inBounds(name, {}, Number(match[1]) * unitMs);
}

/**
 * @param {string} name
 * @param {string} text
 */
function parseUrl(name, text) {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (!url || (url.protocol !== "http:" && url.protocol !== "https:")) {
    throw usageError(`--${name} must be an http or https URL, not "${text}"`);
  }
  return `${url.origin}${url.pathname.replace(/\/+$/, "")}`;
}

/**
 * The text of --help.
 * @param {string} usage what to type, then what it does
 * @param {OptionSpecs} specs
 */
export function helpText(usage, specs) {
  const rows = Object.entries(specs).map(([name, spec]) => {
    const value = spec.type === "boolean" ? "" : ` <${spec.type}>`;
    const fallback = "default" in spec && spec.default !== undefined ? ` (default ${spec.default})` : "";
    return [`--${name}${value}`, `${spec.help}${fallback}`];
  });
  rows.push(["--help", "this text"]);
  const width = Math.max(...rows.map(([left]) => left?.length ?? 0));
  return [usage, "", ...rows.map(([left, right]) => `  ${left?.padEnd(width)}  ${right}`)].join("\n");
}

/**
 * Runs a script's main function: its number becomes the exit code, a CliError one line on stderr.
 * Any other error is a fault of the program and keeps its stack.
 * @param {string} name shown before an error
 * @param {(argv: string[]) => Promise<number>} main
 */
export async function runMain(name, main) {
  try {
    process.exitCode = await main(process.argv.slice(2));
  } catch (error) {
    if (error instanceof CliError) {
      console.error(`${name}: ${error.message}`);
      process.exitCode = error.exitCode;
      return;
    }
    console.error(error);
    process.exitCode = 1;
  }
}
