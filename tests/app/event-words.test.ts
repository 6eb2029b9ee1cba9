import { expect, test } from "vitest";

import { EVENT_TYPES, isEventStatus, typeName } from "../../app/components/event-words.tsx";

test.each([
  ["customer.plan_changed", "Plan changed"],
  ["user.created", "Customer signed up"],
  ["customer.something_new", "Something new"],
  ["other.thing", "Other thing"],
  [null, "Not an event"],
])("the event %s is called %s", (type, name) => {
  expect(typeName(type)).toBe(name);
});

test("no two types have the same name", () => {
  const names = EVENT_TYPES.map(([, name]) => name);
  expect(new Set(names).size).toBe(names.length);
});

test("a status from an address counts only if there is such a one", () => {
  expect(isEventStatus("dead")).toBe(true);
  expect(isEventStatus("everything")).toBe(false);
  expect(isEventStatus(null)).toBe(false);
});
