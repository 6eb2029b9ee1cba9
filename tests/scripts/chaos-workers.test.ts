import { expect, test } from "vitest";
import type { JobNote } from "../../scripts/chaos/journal.ts";
import { newNote, readLine } from "../../scripts/chaos/workers.ts";

function read(...lines: string[]): JobNote {
  const note = newNote("account1", "worker-0-1", 35);
  for (const line of lines) readLine(note, line);
  return note;
}

test("a worker's lines say what it was answered", () => {
  const note = read(
    "job j57: holds 35 units",
    "step 1: charged 7, used 7 of 35",
    "step 2: charged 7, used 14 of 35",
    "job j57: completed, used 14, returned 21",
  );
  expect(note.admitted).toMatchObject({ id: "j57", heldUnits: 35 });
  expect(note.steps.map(({ chargedUnits }) => chargedUnits)).toEqual([7, 7, null, null, null]);
  expect(note.ended).toMatchObject({ id: "j57", status: "completed", heldUnits: 35, usedUnits: 14 });
});

test("a worker that took over knows its job, and none of what it did not do", () => {
  const note = read("job j57: taken over after step 2", "step 3: charged 7, used 21 of 35");
  expect(note.admitted).toMatchObject({ id: "j57", heldUnits: 35 });
  expect(note.steps.map(({ chargedUnits }) => chargedUnits)).toEqual([null, null, 7, null, null]);
  expect(note.ended).toBeNull();
});

test("a line that was cut short says nothing", () => {
  expect(read("job j57: hol", "step 1: char", "job j57: completed, used")).toEqual(read());
});
