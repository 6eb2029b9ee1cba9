import { join } from "node:path";

import { afterEach, beforeEach, expect, test } from "vitest";

import { localBackend, type LocalBackend } from "../helpers/local-backend.ts";

interface Page {
  page: number[];
  isDone: boolean;
  continueCursor: string;
  splitCursor: string | null;
  pageStatus: string | null;
}

let backend: LocalBackend;
const page = (options: object, order = "asc", only?: number): Promise<Page> =>
  backend.query("pages:page", { options, order, ...(only === undefined ? {} : { only }) });

beforeEach(async () => {
  backend = await localBackend({ functionsDir: join(import.meta.dirname, "functions") });
  await backend.mutation("pages:fill", { count: 20 });
});

afterEach(() => backend.close());

test("a page whose filter drops everything ends at its read limit and goes on from there", async () => {
  const first = await page({ numItems: 5, cursor: null, maximumRowsRead: 8 }, "asc", 17);
  expect(first).toMatchObject({ page: [], isDone: false, pageStatus: "SplitRequired" });
  const second = await page({ numItems: 5, cursor: first.continueCursor, maximumRowsRead: 8 }, "asc", 17);
  expect(second).toMatchObject({ page: [], isDone: false });
  const third = await page({ numItems: 5, cursor: second.continueCursor, maximumRowsRead: 8 }, "asc", 17);
  expect(third).toMatchObject({ page: [17], isDone: true });
});

test.each(["asc", "desc"])("the two halves of a split page are the page (%s)", async (order) => {
  const whole = await page({ numItems: 9, cursor: null }, order);
  const low = await page({ numItems: 9, cursor: null, endCursor: whole.splitCursor }, order);
  const high = await page({ numItems: 9, cursor: whole.splitCursor, endCursor: whole.continueCursor }, order);
  expect([...low.page, ...high.page]).toEqual(whole.page);
  expect(low.page.length).toBeGreaterThan(0);
  expect(high.page.length).toBeGreaterThan(0);
  expect(high.continueCursor).toBe(whole.continueCursor);
});

test("an end cursor takes in what was inserted before it since", async () => {
  const first = await page({ numItems: 50, cursor: null }, "desc");
  expect(first.isDone).toBe(true);
  await backend.mutation("pages:fill", { count: 1 });
  const again = await page({ numItems: 50, cursor: null, endCursor: first.continueCursor }, "desc");
  expect(again.page).toEqual([0, ...first.page]);
  expect(again.isDone).toBe(true);
});

test.each(["", "x", "bm90IGEgY3Vyc29y", "W10"])("the text %j is no cursor", async (cursor) => {
  await expect(page({ numItems: 5, cursor })).rejects.toMatchObject({
    data: { isConvexSystemError: true, paginationError: "InvalidCursor" },
  });
});

test("ranges can be bounded by the creation time and the id behind an index's fields", async () => {
  const rest = Array.from({ length: 12 }, (_, i) => i + 8);
  const all = Array.from({ length: 20 }, (_, i) => i);
  expect(await backend.query("pages:around", { b: 7 })).toEqual({
    exact: [7],
    from: [7],
    after: [],
    other: [],
    byId: rest,
    allTimes: all,
    noTime: [],
    aboveNull: all,
  });
});
