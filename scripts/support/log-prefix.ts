import type { Readable, Writable } from "node:stream";
import { StringDecoder } from "node:string_decoder";

/** Longer lines are cut into pieces: a child that never ends its line must not fill our memory. */
const LINE_CHARS_MAX = 64 * 1024;

const COLOURS = [36, 35, 33, 32, 34];
const NAME_WIDTH = 12;

/** How a child's lines begin: its name in a colour of its own on a terminal, plain elsewhere. */
export function prefixOf(name: string, position: number, colour: boolean): string {
  const label = name.padEnd(NAME_WIDTH);
  return colour ? `\u001B[${COLOURS[position % COLOURS.length]}m${label}\u001B[0m | ` : `${label} | `;
}

/** Takes chunks of text and gives whole lines, without their line ends. `end` gives what is left. */
export class LineSplitter {
  #rest = "";

  push(chunk: string): string[] {
    const lines = (this.#rest + chunk).split(/\r?\n/);
    this.#rest = lines.pop() ?? "";
    while (this.#rest.length > LINE_CHARS_MAX) {
      lines.push(this.#rest.slice(0, LINE_CHARS_MAX));
      this.#rest = this.#rest.slice(LINE_CHARS_MAX);
    }
    return lines;
  }

  end(): string[] {
    const rest = this.#rest;
    this.#rest = "";
    return rest === "" ? [] : [rest];
  }
}

/** Copies a child's output line by line, each line begun with `prefix`. Empty lines are left out. */
export function copyLines(from: Readable, to: Writable, prefix: string): void {
  const decoder = new StringDecoder("utf8");
  const splitter = new LineSplitter();
  const write = (lines: string[]) => {
    for (const line of lines) if (line.trim() !== "") to.write(`${prefix}${line}\n`);
  };
  from.on("data", (chunk: Buffer) => write(splitter.push(decoder.write(chunk))));
  from.on("end", () => write([...splitter.push(decoder.end()), ...splitter.end()]));
}
