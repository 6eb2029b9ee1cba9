import { expect, test } from "vitest";

import { type ExportPart, exportText, gatherExport } from "../../app/app/account/gather-export.ts";

/** A part of `count` rows, ten on a page. */
function part(name: string, count: number): ExportPart {
  return {
    name,
    read: async (cursor) => {
      const from = Number(cursor ?? 0);
      const until = Math.min(count, from + 10);
      const rows = Array.from({ length: until - from }, (_none, index) => ({ row: from + index }));
      return { rows, cursor: until < count ? String(until) : null };
    },
  };
}

const about = { account: { id: "a" }, startedAt: "s", finishedAt: "f" };
const signal = () => new AbortController().signal;

test("reads every page of every part, tells how far it is, and writes them as one JSON text", async () => {
  const seen: string[] = [];
  const parts = await gatherExport([part("jobs", 25), part("links", 0), part("keys", 1)], {
    rowsMax: 100,
    signal: signal(),
    onProgress: (progress) =>
      seen.push(`${progress.part} ${progress.partsDone}/${progress.parts} ${progress.rows}`),
  });
  expect(seen).toEqual(["jobs 0/3 0", "jobs 0/3 10", "jobs 0/3 20", "links 1/3 25", "keys 2/3 25"]);
  const file = JSON.parse(exportText(parts, about).join(""));
  expect(file).toMatchObject({
    export: { isComplete: true, cutParts: [], counts: { jobs: 25, links: 0, keys: 1 } },
    account: { id: "a" },
    links: [],
    keys: [{ row: 0 }],
  });
  expect(file.jobs.map(({ row }: { row: number }) => row)).toEqual(
    Array.from({ length: 25 }, (_none, row) => row),
  );
});

test.each([
  [20, 20, false],
  [21, 20, true],
  [40, 20, true],
])(
  "of %i rows with a limit of 20 it keeps %i, and says whether there are more",
  async (count, kept, isCut) => {
    const options = { rowsMax: 20, signal: signal(), onProgress: () => undefined };
    const [jobs] = await gatherExport([part("jobs", count)], options);
    expect(jobs).toMatchObject({ isCut });
    expect(jobs!.rows).toHaveLength(kept);
    const head = JSON.parse(exportText([jobs!], about).join("")).export;
    expect(head).toMatchObject({ isComplete: !isCut, cutParts: isCut ? ["jobs"] : [] });
  },
);

test("a part that cannot be read, or being stopped, leaves no file at all", async () => {
  const broken: ExportPart = { name: "x", read: () => Promise.reject(new Error("away")) };
  const options = { rowsMax: 20, onProgress: () => undefined };
  await expect(gatherExport([part("jobs", 1), broken], { ...options, signal: signal() })).rejects.toThrow(
    "away",
  );
  const stopping = new AbortController();
  const gathering = gatherExport([part("jobs", 40)], {
    rowsMax: 100,
    signal: stopping.signal,
    onProgress: ({ rows }) => rows >= 10 && stopping.abort(),
  });
  await expect(gathering).rejects.toMatchObject({ name: "AbortError" });
});
