import { usageError } from "../support/cli.mjs";

/** The numbers of "7" or, with ".." between them, of "1..50". */
export function numbersOf(name: string, text: string, between: string): number[] {
  const [first = Number.NaN, last = first] = text.split(between).map((part) => {
    if (/^\d{1,9}$/.test(part)) return Number(part);
    throw usageError(`${name} takes whole numbers, not "${part}"`);
  });
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => first + index);
}

/** "3,17-20,44" */
export function rangesOf(numbers: readonly number[]): string {
  const ranges: { first: number; last: number }[] = [];
  for (const number of numbers) {
    const range = ranges.at(-1);
    if (range?.last === number - 1) range.last = number;
    else ranges.push({ first: number, last: number });
  }
  return ranges.map(({ first, last }) => (first === last ? first : `${first}-${last}`)).join(",");
}
