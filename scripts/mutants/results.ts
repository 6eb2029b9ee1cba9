/** The committed result of `npm run mutants`: one line a mutant, of the run that looked at it last. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";

import type { Mutant } from "./mutant.ts";

export interface Result {
  readonly id: string;
  /** Null for one that survived. */
  readonly caughtBy: string | null;
  readonly seconds: number;
}

interface Line {
  readonly id: string;
  readonly text: string;
}

const HEAD = `# What became of each broken rule

\`npm run mutants\` breaks the rules below one at a time, in a copy of the repository, and runs the tests that are to
notice; what passes them all goes to the simulator. \`npm run mutants -- --save\` writes this file.

| Mutant | What is not so any more | Caught by | Seconds | Date | Commit |
| --- | --- | --- | ---: | --- | --- |
`;

/** Lines of mutants that this run did not look at stay, unless the mutant is gone. */
export function saveResults(
  path: string,
  mutants: readonly Mutant[],
  results: readonly Result[],
  run: { readonly date: string; readonly commit: string },
): void {
  const before = existsSync(path) ? linesOf(readFileSync(path, "utf8")) : [];
  const lines = mutants.flatMap((mutant) => {
    const result = results.find(({ id }) => id === mutant.id);
    if (result !== undefined) return lineOf(mutant, result, run);
    return before.find(({ id }) => id === mutant.id) ?? [];
  });
  const survived = lines.filter(({ text }) => text.includes("**SURVIVED**")).length;
  const sum = `\n${lines.length} of ${mutants.length} mutants run: ${lines.length - survived} caught, ${survived} survived.\n`;
  writeFileSync(path, `${HEAD}${lines.map(({ text }) => text).join("\n")}\n${sum}`);
}

function lineOf(
  { id, breaks }: Mutant,
  { caughtBy, seconds }: Result,
  { date, commit }: { readonly date: string; readonly commit: string },
): Line {
  const cells = [`\`${id}\``, breaks, caughtBy ?? "**SURVIVED**", seconds.toFixed(1), date, commit];
  return {
    id,
    text: `| ${cells.map((cell) => cell.replaceAll("|", "\\|").replaceAll("\n", " ")).join(" | ")} |`,
  };
}

function linesOf(text: string): Line[] {
  return text.split("\n").flatMap((line) => {
    const id = /^\| `([^`]+)` \|/.exec(line)?.[1];
    return id === undefined ? [] : { id, text: line };
  });
}
