import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

import { NEXT_STEPS } from "../../app/ops/faults/next-steps.ts";
import { FAULT_OFFERS } from "../../lib/kinde/fault-offers.ts";

test("every fault that is offered says what to do next, with a link to a screen", () => {
  expect(Object.keys(NEXT_STEPS)).toEqual(FAULT_OFFERS.map(({ id }) => id));
  for (const { text, links } of Object.values(NEXT_STEPS)) {
    expect(text).toMatch(/\.$/);
    expect(links.length).toBeGreaterThan(0);
    const lost = links.filter(
      ({ href }) => !existsSync(join(import.meta.dirname, "../../app", href, "page.tsx")),
    );
    expect(lost).toEqual([]);
  }
});
