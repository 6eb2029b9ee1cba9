/**
 * Makes mutations of sync clients happen once: a client that lost its connection sends every unanswered mutation
 * again. The result is recorded in the mutation's own transaction under (session, request), so the repeat is
 * answered from the record, also after a restart. Only successes are recorded: a failure changed nothing.
 */
import type { TableInfo } from "../catalog.ts";
import { FunctionError } from "../errors.ts";
import type { Caller } from "../invocation.ts";
import type { CallResult, Runtime } from "../runtime.ts";
import { documentSource, indexSource, type Transaction } from "../transaction.ts";
import type { JsonObject } from "../values/json.ts";
import { encodeKeyPart, keySuccessor } from "../values/order-key.ts";

/** No client waits this long with a mutation it may still repeat. */
const KEEP_MS = 14 * 24 * 3_600_000;
const PURGE_EVERY_MS = 3_600_000;
const PURGE_BATCH = 500;
/** A document holds 1 MiB, a result may have 16: longer ones go into several documents. */
const PART_CHARS = 200_000;
const PARTS_MAX = 1_000;
const RECORDS_TABLE = "_mutation_records";
const ALARM = "mutation records";

interface RecordText {
  valueText: string;
  logLines: readonly string[];
}

export class MutationRecords {
  private stopped = false;

  constructor(private readonly runtime: Runtime) {}

  /**
   * Runs a mutation, or answers what it answered before. A repeat's timestamp is that of the snapshot the record
   * was read in: like the original's, everything the mutation wrote is visible at it.
   */
  async run(
    request: { sessionId: string; requestId: number },
    path: string,
    args: JsonObject,
    caller: Caller,
  ): Promise<CallResult> {
    let recorded: RecordText | null = null;
    try {
      const result = await this.runtime.runMutation(path, args, caller, {
        before: async (tx) => {
          recorded = tx.limits.uncounted(() => this.read(tx, request));
          return recorded === null;
        },
        after: async (tx, valueText, logLines) =>
          tx.limits.uncounted(() => this.write(tx, request, { valueText, logLines })),
      });
      return { ...result, ...(recorded as RecordText | null) };
    } catch (error) {
      // A function that was changed since may refuse arguments that it once took.
      if (!(error instanceof FunctionError)) throw error;
      const found = await this.runtime.executor.query(async (tx) => this.read(tx, request));
      if (found.value === null) throw error;
      return { ...found.value, ts: found.ts };
    }
  }

  /** Removes old records now and then. */
  start(): void {
    void this.purge().catch((error: unknown) => {
      if (!this.stopped) this.runtime.report("mutation records", error);
    });
  }

  stop(): void {
    this.stopped = true;
    this.runtime.timers.clear(ALARM);
  }

  private async purge(): Promise<void> {
    const { executor, clock, timers } = this.runtime;
    const beforeMs = clock.nowMs() - KEEP_MS;
    for (let removed = PURGE_BATCH; removed === PURGE_BATCH && !this.stopped;) {
      const batch = await executor.mutation(async (tx) => this.removeOld(tx, beforeMs));
      removed = batch.value;
    }
    if (!this.stopped) timers.set(ALARM, clock.nowMs() + PURGE_EVERY_MS, () => this.start());
  }

  private removeOld(tx: Transaction, beforeMs: number): number {
    const { table } = this;
    let removed = 0;
    // The oldest come first.
    for (const [internalId, text] of tx.page(documentSource(table), "", null, "asc", PURGE_BATCH).rows) {
      const document = JSON.parse(text) as JsonObject;
      if ((document["_creationTime"] as number) >= beforeMs) break;
      tx.update(table, internalId, document, null);
      removed++;
    }
    return removed;
  }

  private get table(): TableInfo {
    return this.runtime.catalog.find(RECORDS_TABLE)!;
  }

  private read(tx: Transaction, request: { sessionId: string; requestId: number }): RecordText | null {
    const { table } = this;
    const source = indexSource(table, table.indexes[0]!);
    const lo = encodeKeyPart(request.sessionId) + encodeKeyPart(request.requestId);
    const hi = keySuccessor(lo);
    // So that of two connections that repeat a mutation at once only one runs it.
    tx.recordRead(tx.reads.add(source.space, lo, hi));
    const { rows } = tx.page(source, lo, hi, "asc", PARTS_MAX);
    if (rows.length === 0) return null;
    const parts = rows.map(([, text]) => (JSON.parse(text) as { text: string }).text);
    return JSON.parse(parts.join("")) as RecordText;
  }

  private write(
    tx: Transaction,
    { sessionId, requestId }: { sessionId: string; requestId: number },
    record: RecordText,
  ): void {
    const logLines = record.logLines.map((line) => this.runtime.redact(line));
    const text = JSON.stringify({ valueText: record.valueText, logLines });
    for (let from = 0, part = 0; from < text.length; part++) {
      let to = from + PART_CHARS;
      if (isHighSurrogate(text.charCodeAt(to - 1))) to--;
      tx.insert(this.table, { sessionId, requestId, part, text: text.slice(from, to) });
      from = to;
    }
  }
}

/** Documents take only well-formed text, so a character is never cut in two. */
function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code < 0xdc00;
}
