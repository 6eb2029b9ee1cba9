import { createHash } from "node:crypto";

/** What happened in a run, line by line. Of a long run the newest lines are kept; the digest is of all. */
export class Trace {
  private readonly lines: string[] = [];
  private readonly hash = createHash("sha256");

  constructor(
    private readonly elapsedMs: () => number,
    private readonly linesMax = 20_000,
  ) {}

  note(text: string): void {
    const line = `${(this.elapsedMs() / 1_000).toFixed(3).padStart(9)} ${text}`;
    this.hash.update(`${line}\n`);
    this.lines.push(line);
    if (this.lines.length > 2 * this.linesMax) this.lines.splice(0, this.linesMax);
  }

  digest(): string {
    return this.hash.copy().digest("hex");
  }

  newest(count = this.linesMax): string[] {
    return this.lines.slice(-count);
  }
}
