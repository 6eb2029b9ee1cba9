import { crc32 } from "node:zlib";
import { clickSchema, type Click } from "./click.ts";

/** Hex digits of the checksum, before a space and the JSON text. */
const CHECKSUM_LENGTH = 8;
const NEWLINE = 0x0a;

/** A click as one line: checksum, space, JSON, newline. JSON text has no newline of its own. */
export function encodeRecord(click: Click): string {
  const json = JSON.stringify(click);
  return `${checksum(json)} ${json}\n`;
}

export interface DecodedRecords {
  readonly clicks: readonly Click[];
  /** Lines that are not a record of this format, as they were found, without their newline. */
  readonly damaged: readonly Buffer[];
  /** What stands after the last newline: a write that was cut short. Null when there is nothing. */
  readonly torn: Buffer | null;
}

/** Reads a whole file. A damaged line costs itself only: the next newline starts afresh. */
export function decodeRecords(bytes: Buffer): DecodedRecords {
  const clicks: Click[] = [];
  const damaged: Buffer[] = [];
  let start = 0;
  for (let end = bytes.indexOf(NEWLINE); end !== -1; end = bytes.indexOf(NEWLINE, start)) {
    const line = bytes.subarray(start, end);
    const click = decodeLine(line);
    if (click === null) damaged.push(line);
    else clicks.push(click);
    start = end + 1;
  }
  return { clicks, damaged, torn: start < bytes.length ? bytes.subarray(start) : null };
}

function decodeLine(line: Buffer): Click | null {
  const json = line.subarray(CHECKSUM_LENGTH + 1);
  if (line.toString("latin1", 0, CHECKSUM_LENGTH + 1) !== `${checksum(json)} `) return null;
  try {
    const parsed = clickSchema.safeParse(JSON.parse(json.toString("utf8")));
    return parsed.success ? parsed.data : null;
  } catch {
    return null;
  }
}

function checksum(text: string | Buffer): string {
  return crc32(text).toString(16).padStart(CHECKSUM_LENGTH, "0");
}
