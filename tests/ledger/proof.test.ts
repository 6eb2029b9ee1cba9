import { expect, test } from "vitest";
import { type MeterProof, proofText, type ProvenReading } from "../../lib/ledger/proof.ts";

const formatTime = (ms: number): string => new Date(ms).toISOString().slice(0, 16);
const AT = Date.parse("2026-11-19T03:00:00Z");

const reading = (change: Partial<ProvenReading> = {}): ProvenReading => ({
  foundUnits: 300,
  meterUnits: 300,
  ledgerUnits: 300,
  status: "proven",
  atMs: AT,
  isSeenAgain: false,
  ...change,
});
const text = (change: Partial<MeterProof>): string =>
  proofText(
    {
      feature: "tokens",
      ledgerUnits: 300,
      isAtProvider: true,
      standing: "proven",
      reading: reading(),
      ...change,
    },
    formatTime,
  );

test("a proof says when it was, what the provider showed and what the ledger had", () => {
  expect(text({})).toBe("Proven on 2026-11-19T03:00: the provider showed 300, the ledger had 300.");
});

test("a proof of an older total says that the ledger has gone on", () => {
  expect(text({ ledgerUnits: 301, standing: "confirmed" })).toBe(
    "Proven on 2026-11-19T03:00: the provider showed 300, the ledger had 300. " +
      "The ledger has gone on to 301 tokens since; the next reading proves that.",
  );
});

test("what was only sent is not proven", () => {
  for (const standing of ["confirmed", "on_its_way", "empty"] as const) {
    expect(text({ reading: null, standing })).toMatch(/^The provider's meter is not proven yet/);
  }
});

test("a meter that differed says both numbers, and what becomes of it", () => {
  const error = reading({ status: "error", foundUnits: 307, meterUnits: null });
  const differed = "differed when it was last read, on 2026-11-19T03:00: provider 307, ledger 300";
  expect(text({ reading: error, standing: "error" })).toBe(`The meter ${differed}; it is being put right.`);
  expect(text({ reading: error, standing: "confirmed" })).toBe(
    `The meter ${differed}. The ledger's total was sent again since.`,
  );
  const repaired = reading({ status: "repaired_and_confirmed", foundUnits: 307 });
  expect(text({ reading: repaired, standing: "repaired" })).toBe(
    `The meter ${differed}. It was put right, and read back it showed 300.`,
  );
  expect(text({ reading: { ...repaired, isSeenAgain: true } })).toMatch(/^Proven on/);
  const closed = reading({ status: "needs_review", foundUnits: 307, meterUnits: 307 });
  expect(text({ reading: closed, standing: "needs_review" })).toContain("An operator decides");
  expect(text({ reading: closed, standing: "accepted" })).toContain("has decided that it stays so");
});

test("what could not be read, and what no provider has, is not called proven", () => {
  const unread = reading({ status: "unreadable", foundUnits: null, meterUnits: null });
  expect(text({ reading: unread, standing: "unreadable" })).toContain(
    "could not be read on 2026-11-19T03:00",
  );
  expect(text({ standing: "kept_here", isAtProvider: false, reading: null })).toContain(
    "no customer at the billing provider",
  );
  expect(text({ standing: "unmetered", reading: null })).toContain("No agreement was in force");
});
