import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { Agent, createServer, get, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { ClickBatch } from "../../../lib/server/redirect/click.ts";
import { decodeRecords, encodeRecord } from "../../../lib/server/redirect/spool-records.ts";
import { makeClick, makeLink } from "./helpers.ts";

const REPOSITORY = join(import.meta.dirname, "..", "..", "..");
const AT_A_TIME = 50;

/** Links and ledger, outside of the processes that are killed. Rows are told apart by the agent, one a request. */
class LedgerServer {
  readonly agentByKey = new Map<string, string>();
  /** What happens to a batch: written and answered, written with the answer lost, or not written. */
  mode: "up" | "reply lost" | "down" = "up";
  url = "";
  readonly #server = createServer((request, response) => void this.#answer(request, response));

  async start(): Promise<void> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    this.url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  stop(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  /** How often each request was counted. */
  counted(): Map<string, number> {
    const counts = new Map<string, number>();
    for (const agent of this.agentByKey.values()) counts.set(agent, (counts.get(agent) ?? 0) + 1);
    return counts;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    if (request.url?.startsWith("/links/")) {
      response.end(JSON.stringify(makeLink({ linkId: request.url.slice("/links/".length) })));
      return;
    }
    if (this.mode === "down") return void response.writeHead(503).end();
    const { clicks } = JSON.parse(Buffer.concat(chunks).toString("utf8")) as ClickBatch;
    for (const { key, agent } of clicks) {
      if (!this.agentByKey.has(key)) this.agentByKey.set(key, agent ?? "");
    }
    if (this.mode === "reply lost") return void response.destroy();
    response.end(JSON.stringify({ kind: "written", count: clicks.length }));
  }
}

let folder = "";
let ledger = new LedgerServer();
const children = new Set<ChildProcess>();
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "holdfast-kill-"));
  ledger = new LedgerServer();
  await ledger.start();
});
afterEach(async () => {
  for (const child of children) {
    child.kill("SIGKILL");
    if (child.exitCode === null && child.signalCode === null) await once(child, "close");
  }
  children.clear();
  ledger.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function startProcess(fsync = false) {
  const args = ["--import", "tsx", join(import.meta.dirname, "redirect-process.ts"), ledger.url, folder];
  const child = spawn(process.execPath, fsync ? [...args, "fsync"] : args, {
    cwd: REPOSITORY,
    stdio: ["ignore", "pipe", "ignore"],
  });
  children.add(child);
  const [line] = (await once(createInterface({ input: child.stdout }), "line")) as [string];
  return {
    url: `http://127.0.0.1:${line.replace("listening on ", "")}`,
    async end(signal: "SIGKILL" | "SIGTERM"): Promise<void> {
      const closed = once(child, "close");
      child.kill(signal);
      await closed;
    },
  };
}

interface Load {
  sent: number;
  readonly answered: Set<string>;
  /** Resolves when the server has gone, or `isStopped` was set. */
  readonly ended: Promise<unknown>;
  isStopped: boolean;
}

/** Follows five links, 50 at a time, each request with an agent of its own, until the server is gone. */
function startLoad(url: string, name: string): Load {
  const agent = new Agent({ keepAlive: true, maxSockets: AT_A_TIME });
  const answered = new Set<string>();
  const follow = (number: number) =>
    new Promise<boolean>((resolve) => {
      const userAgent = `${name}-${number}`;
      get(`${url}/code-${number % 5}`, { agent, headers: { "user-agent": userAgent } }, (response) => {
        response.resume();
        // The status line is the answer: a browser goes to the target now.
        if (response.statusCode === 302) answered.add(userAgent);
        response.on("end", () => resolve(true));
        response.on("error", () => resolve(false));
      }).on("error", () => resolve(false));
    });
  const load: Load = {
    sent: 0,
    answered,
    ended: Promise.resolve(),
    isStopped: false,
  };
  const lane = async () => {
    while (!load.isStopped) {
      load.sent += 1;
      if (!(await follow(load.sent))) return;
    }
  };
  const ended = Promise.all(Array.from({ length: AT_A_TIME }, lane)).finally(() => agent.destroy());
  return Object.assign(load, { ended });
}

const answeredAtLeast = async (load: Load, count: number) => {
  while (load.answered.size < count) await sleep(5);
};

/**
 * What is wrong with the rows: each answered request is one row, and each row is one request that was answered or
 * still under way when its process was killed.
 */
function faults(loads: readonly Load[]): string[] {
  const counted = ledger.counted();
  const answered = loads.flatMap((load) => [...load.answered]);
  const lost = answered.filter((agent) => !counted.has(agent)).map((agent) => `lost: ${agent}`);
  const twice = [...counted].filter(([, count]) => count > 1).map(([agent]) => `counted twice: ${agent}`);
  const surplus = counted.size - answered.length - loads.length * AT_A_TIME;
  return [...lost, ...twice, ...(surplus > 0 ? [`${surplus} rows more than were ever under way`] : [])];
}

/** Starts once more without load, lets it write what it finds, and ends it in order. */
async function replayAll(): Promise<void> {
  const last = await startProcess();
  // Files of ended processes are loaded before the process says that it listens or soon after; the end drains them.
  while (readdirSync(folder).filter((name) => name.endsWith(".clicks")).length > 0) await sleep(20);
  await last.end("SIGTERM");
  expect(leftBehind()).toEqual([]);
}

/**
 * What is in the folder and should not be. A kill in the middle of a write of several pages tears it: the requests of
 * that write were not answered yet, so what stands after the last whole record was promised to nobody. It is set aside,
 * one end of a file each; a whole record there, or more than that end, would be a click that was given up.
 */
function leftBehind(): string[] {
  return readdirSync(folder).filter((name) => {
    if (!name.endsWith(".damaged")) return true;
    const { clicks, damaged } = decodeRecords(readFileSync(join(folder, name)));
    return clicks.length > 0 || damaged.length !== 1;
  });
}

describe("B42: SIGKILL under load loses no answered click", () => {
  test.each([
    ["up", 3],
    ["reply lost", 2],
    ["down", 2],
  ] as const)(
    "while the ledger is %s, %d times in a row",
    async (mode, rounds) => {
      const loads: Load[] = [];
      for (let round = 0; round < rounds; round += 1) {
        ledger.mode = mode;
        const server = await startProcess();
        const load = startLoad(server.url, `${mode}-${round}`);
        loads.push(load);
        await answeredAtLeast(load, 100 + Math.floor(Math.random() * 900));
        await server.end("SIGKILL");
        await load.ended;
      }
      ledger.mode = "up";
      await replayAll();
      expect(faults(loads)).toEqual([]);
    },
    120_000,
  );

  test("also when the kill tears the write that was under way", async () => {
    ledger.mode = "down";
    const server = await startProcess();
    const load = startLoad(server.url, "torn");
    await answeredAtLeast(load, 200);
    await server.end("SIGKILL");
    await load.ended;
    const [segment = ""] = readdirSync(folder)
      .filter((name) => name.endsWith(".clicks"))
      .toSorted()
      .slice(-1);
    const halfRecord = encodeRecord(makeClick()).slice(0, 100);
    appendFileSync(join(folder, segment), halfRecord);
    ledger.mode = "up";
    await replayAll();
    expect(faults([load])).toEqual([]);
    const aside = readdirSync(folder).map((name) => readFileSync(join(folder, name), "utf8"));
    expect(aside).toHaveLength(1);
    expect(aside[0]?.endsWith(`${halfRecord}\n`)).toBe(true);
  }, 120_000);

  test("with a second process on the same folder, which goes on", async () => {
    const [first, second] = [await startProcess(), await startProcess()];
    const loads = [startLoad(first.url, "first"), startLoad(second.url, "second")];
    await Promise.all(loads.map((load) => answeredAtLeast(load, 300)));
    await first.end("SIGKILL");
    const third = await startProcess();
    await answeredAtLeast(loads[1]!, 600);
    loads[1]!.isStopped = true;
    await Promise.all(loads.map(({ ended }) => ended));
    await Promise.all([second.end("SIGTERM"), third.end("SIGTERM")]);
    await replayAll();
    expect(faults(loads)).toEqual([]);
  }, 120_000);

  test("with fsync", async () => {
    const server = await startProcess(true);
    const load = startLoad(server.url, "fsync");
    await answeredAtLeast(load, 200);
    await server.end("SIGKILL");
    await load.ended;
    await replayAll();
    expect(faults([load])).toEqual([]);
  }, 120_000);
});

test("SIGTERM writes everything that was answered and leaves no file", async () => {
  const server = await startProcess();
  const load = startLoad(server.url, "term");
  await answeredAtLeast(load, 500);
  load.isStopped = true;
  await load.ended;
  await server.end("SIGTERM");
  expect(ledger.counted().size).toBe(load.answered.size);
  expect(load.answered.size).toBe(load.sent);
  expect(readdirSync(folder)).toEqual([]);
}, 60_000);
