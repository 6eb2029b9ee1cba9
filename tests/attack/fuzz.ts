import { request as httpRequest } from "node:http";

import { RandomValues, seededRandom } from "../helpers/random-values.ts";

/** Requests that bend good ones at random: method, path, query, headers and body. The same seed sends the same ones. */

export interface FuzzTarget {
  readonly url: string;
  /** Good paths, with the methods that they take, and bodies or null. */
  readonly seeds: readonly FuzzSeed[];
  /** Headers that open doors, of which some requests carry some. */
  readonly keys: readonly Readonly<Record<string, string>>[];
  /** Ids and other words that fit somewhere. */
  readonly words: readonly string[];
}

export interface FuzzSeed {
  readonly method: string;
  readonly path: string;
  readonly body?: string;
}

export interface Fuzzed {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Buffer | null;
}

export interface FuzzAnswer {
  readonly status: number;
  readonly text: string;
}

const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "PROPFIND"];
/** As they can stand in a request target: what Node's client would refuse to send is left to the tests of raw bytes. */
const PATH_PIECES = [
  "..",
  ".",
  "",
  "%2e%2e",
  "%2f",
  "%00",
  "%0d%0aset-cookie:%20a=b",
  "%c0%ae",
  "%ff",
  "%",
  "%E0%A4%A",
  "a".repeat(3_000),
  "__proto__",
  "constructor",
  "toString",
  "0",
  "-1",
  "null",
  "NaN",
  "%F0%9F%98%80",
  "%EF%BC%8E",
  ";x=y",
  "*",
  "@",
  "'",
  "%22",
  "$where",
  "{}",
];
const VALUES = [
  "null",
  "0",
  "-0",
  "1e400",
  "-1",
  "9007199254740993",
  '""',
  "[]",
  "{}",
  "true",
  '"\\u0000"',
  '"\\ud800"',
  '{"__proto__":{"a":1}}',
  '{"$integer":"AAAAAAAAAAA="}',
  '{"$integer":"x"}',
  '{"$bytes":"%"}',
  '{"$undefined":1}',
  '{"$float":1}',
  "[".repeat(200) + "]".repeat(200),
  '{"a":'.repeat(200) + "1" + "}".repeat(200),
];
const TYPES = [
  "application/json",
  "application/x-www-form-urlencoded",
  "text/plain",
  "multipart/form-data",
  "",
];

export class Fuzzer {
  private readonly values: RandomValues;

  constructor(
    private readonly target: FuzzTarget,
    seed: number,
  ) {
    this.values = new RandomValues(seededRandom(seed));
  }

  next(): Fuzzed {
    const { values, target } = this;
    const seed = values.pick(target.seeds);
    const method = values.below(5) === 0 ? values.pick(METHODS) : seed.method;
    const headers: Record<string, string> = { ...values.pick(target.keys) };
    if (values.below(8) > 0) headers["content-type"] = values.pick(TYPES);
    if (values.below(10) === 0) headers["x-forwarded-host"] = "evil.example";
    if (values.below(10) === 0) headers["cookie"] = `${values.pick(target.words)}=${values.below(1_000)}`;
    const body = method === "GET" || method === "HEAD" ? null : this.body(seed.body ?? "{}");
    return { method, path: this.path(seed.path), headers, body };
  }

  private path(path: string): string {
    const { values, target } = this;
    const [plain = "", query] = path.split("?");
    const segments = plain.split("/").slice(1);
    for (let times = values.below(3); times > 0; times -= 1) {
      const at = values.below(segments.length + 1);
      const piece =
        values.below(2) === 0 ? values.pick(PATH_PIECES) : encodeURIComponent(values.pick(target.words));
      segments.splice(at, values.below(2), piece);
    }
    const given = query === undefined ? [] : query.split("&");
    for (let times = values.below(3); times > 0; times -= 1) {
      const name = values.pick([...target.words, "limit", "cursor", "args", "path", "format"]);
      given.push(
        `${encodeURIComponent(name)}=${encodeURIComponent(values.pick([...VALUES, ...target.words]))}`,
      );
    }
    return `/${segments.join("/")}${given.length === 0 ? "" : `?${given.join("&")}`}`;
  }

  private body(good: string): string | Buffer {
    const { values, target } = this;
    switch (values.below(6)) {
      case 0:
        return values.pick(VALUES);
      case 1:
        return good.slice(0, values.below(good.length + 1));
      case 2:
        return Buffer.from(values.bytes());
      case 3:
        return good.replace(/"[^"]*"|\d+/g, (part) => (values.below(4) === 0 ? values.pick(VALUES) : part));
      case 4:
        return good.replace(/"[^"]*"/g, (part) =>
          values.below(4) === 0 ? JSON.stringify(values.pick(target.words)) : part,
        );
      default:
        return good;
    }
  }
}

/** How long an answer may take before it counts as none. Far more than the slowest takes on a busy machine. */
const HANG_MS = 20_000;

/** Sends it as it is: no normalising of the path. Rejects when no answer comes. */
export function sendFuzzed(url: string, { method, path, headers, body }: Fuzzed): Promise<FuzzAnswer> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const sent = httpRequest(
      { hostname, port, method, path, headers, timeout: HANG_MS, agent: false },
      (answer) => {
        let text = "";
        answer.setEncoding("utf8").on("data", (chunk: string) => {
          text += chunk;
        });
        answer.on("end", () => resolve({ status: answer.statusCode ?? 0, text }));
        answer.on("error", reject);
      },
    );
    sent.on("timeout", () => sent.destroy(new Error(`no answer to ${method} ${path}`)));
    sent.on("error", reject);
    sent.end(body ?? undefined);
  });
}

export interface FuzzReport {
  /** What was answered with a fault of the server, or not at all. */
  readonly faults: readonly string[];
  /** How often each status came. */
  readonly statuses: Readonly<Record<number, number>>;
}

/** Sends `count` requests, some at a time. */
export async function fuzz(target: FuzzTarget, seed: number, count: number): Promise<FuzzReport> {
  const fuzzer = new Fuzzer(target, seed);
  const faults: string[] = [];
  const statuses: Record<number, number> = {};
  const lane = async (): Promise<void> => {
    for (let left = count / LANES; left > 0; left -= 1) {
      const request = fuzzer.next();
      const answer = await sendFuzzed(target.url, request).catch((error: unknown) => ({
        status: 0,
        text: String(error),
      }));
      statuses[answer.status] = (statuses[answer.status] ?? 0) + 1;
      if (answer.status === 0 || answer.status >= 500) {
        const { method, path, headers, body } = request;
        const shown = JSON.stringify({ path: path.slice(0, 300), headers, body: String(body).slice(0, 300) });
        faults.push(`${answer.status} ${method} ${shown}: ${answer.text.slice(0, 300)}`);
      }
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  return { faults, statuses };
}

/** Requests under way at a time. */
const LANES = 8;
