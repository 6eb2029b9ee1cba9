import { expect, test } from "vitest";
import { newFault } from "../../lib/kinde/emulator/fault-kinds.ts";
import { FAULT_OFFERS, FAULT_SPANS, faultBody, offerOf } from "../../lib/kinde/fault-offers.ts";

test.each(FAULT_OFFERS.map(({ id }) => id))("the control API takes the offer %s for every span", (id) => {
  for (const span of FAULT_SPANS) {
    const settings = newFault.parse(faultBody(id, span.id));
    expect(offerOf(settings)?.id).toBe(id);
  }
});

test("nothing but an offer and a span makes a fault", () => {
  expect(faultBody("second_writer", "for ever")).toBeNull();
  expect(faultBody("*", "1")).toBeNull();
  expect(faultBody({ endpoint: "*", fault: "timeout" }, "1")).toBeNull();
});
