import { expect, test } from "vitest";
import { cycleAt } from "../../lib/ledger/cycle.ts";
import { whyText, type EntryOrigin, type WhyFacts } from "../../lib/ledger/why.ts";

const AT = Date.parse("2026-11-19T12:00:00Z");
const formatTime = (ms: number): string => new Date(ms).toISOString().slice(0, 16);

const planName = (planKey: string): string => planKey.toUpperCase();

const facts = (origin: EntryOrigin, units: number, change: Partial<WhyFacts> = {}): WhyFacts => ({
  entry: { units, atMs: AT, bookedAtMs: AT + 300_000, origin },
  meter: { accountId: "acc", agreementId: "agreement_1", feature: "clicks", cycle: "2026-10" },
  cycle: cycleAt(Date.parse("2026-10-20T15:29:00Z"), AT),
  agreement: { planKey: "pro", fromMs: 0 },
  cap: null,
  job: null,
  moved: null,
  ledgerUnits: 8_460,
  confirmed: { totalUnits: 8_457, atMs: AT + 60_000 },
  proof: { isAtProvider: true, standing: "confirmed", reading: null },
  ...change,
});
const unmetered = { isAtProvider: true, standing: "unmetered", reading: null } as const;
const NOT_PROVEN =
  "The provider's meter is not proven yet: the reconciliation runs every night, or when an operator starts it.";
const click = (change: Partial<Extract<EntryOrigin, { kind: "click" }>> = {}): EntryOrigin => ({
  kind: "click",
  code: "LoKE2",
  class: "billable",
  rule: "no rule against it",
  ...change,
});

test("a billed click tells its class, rule, instant, meter, cycle, cap and report", () => {
  expect(
    whyText(facts(click(), 1, { cap: { capUnits: 1_000, billedUnits: 12 } }), formatTime, planName),
  ).toEqual({
    title: "Billed: 1 click",
    reasons: [
      "A click on /LoKE2 on 2026-11-19T12:00. A person's browser asked for it, so it counts. " +
        "No rule speaks against it; checked were: the link is not active, only headers were asked for, a browser " +
        "fetched it ahead, a program (bot) asked, the cap of the link was reached.",
      "The link's cap is 1,000 clicks; 12 are billed.",
      'It is in the meter "clicks" of the plan PRO, cycle 2026-10: from 2026-10-20T15:29 up to 2026-11-20T15:29.',
      "The last total sent for this meter, and taken by the provider, is 8,457 clicks, on 2026-11-19T12:01. Its total in the ledger is 8,460 clicks.",
      NOT_PROVEN,
    ],
  });
});

test("one click that is billed is said in the singular", () => {
  const { reasons } = whyText(
    facts(click(), 1, { cap: { capUnits: 1, billedUnits: 1 } }),
    formatTime,
    planName,
  );
  expect(reasons[1]).toBe("The link's cap is 1 click; 1 is billed.");
});

test.each([
  ["inactive", "link inactive", "The link was disabled or deleted"],
  ["head", "method: HEAD", "It asked for headers only"],
  ["prefetch", "sec-purpose: prefetch", "A browser fetched it before anybody clicked"],
  ["bot", "isbot: Googlebot", "A program asked for it"],
  ["over_cap", "cap: 10 of 10 billed", "The link had all the clicks that its cap allows"],
] as const)("a click of class %s says that it is not billed, and the rule", (kind, rule, text) => {
  const { title, reasons } = whyText(facts(click({ class: kind, rule }), 0), formatTime, planName);
  expect(title).toBe("Not billed");
  expect(reasons[0]).toContain(text);
  expect(reasons[0]).toContain(`Rule: ${rule}.`);
  expect(reasons[1]).toMatch(/^It adds 0 to the meter "clicks" of the plan PRO, cycle 2026-10:/);
});

const jobOrigin: EntryOrigin = { kind: "job", jobKey: "job-1", budgetCycle: "2026-10" };
const tokens = { accountId: "acc", agreementId: "agreement_1", feature: "tokens", cycle: "2026-10" };

test.each([
  ["completed", "Job job-1 was completed on 2026-11-19T12:00."],
  ["failed", "Job job-1 failed on 2026-11-19T12:00; what it had used until then is charged."],
  ["cancelled", "Job job-1 was cancelled on 2026-11-19T12:00; what it had used until then is charged."],
  [
    "expired",
    "Job job-1 was still running when its lease ended; it was settled on 2026-11-19T12:00 at what had been charged.",
  ],
] as const)("a job that is %s tells how it ended, and what it held, used and gave back", (status, end) => {
  const job = { status, heldUnits: 40_000, usedUnits: 31_200, overCapUnits: 0 };
  const why = whyText(
    facts(jobOrigin, 31_200, { job, meter: tokens, ledgerUnits: 31_200 }),
    formatTime,
    planName,
  );
  expect(why.title).toBe("Billed: 31,200 tokens");
  expect(why.reasons[0]).toBe(
    `${end} It held 40,000 tokens, used 31,200 and returned 8,800. Its hold was in cycle 2026-10.`,
  );
  expect(why.reasons.at(-2)).toContain("Its total in the ledger is 31,200 tokens.");
});

test("a capped job also tells what it wanted beyond its hold", () => {
  const job = { status: "capped", heldUnits: 1_500, usedUnits: 1_500, overCapUnits: 300 } as const;
  const { reasons } = whyText(facts(jobOrigin, 1_500, { job, meter: tokens }), formatTime, planName);
  expect(reasons[0]).toBe(
    "Job job-1 was stopped at the end of its hold on 2026-11-19T12:00. It held 1,500 tokens, used 1,500 and " +
      "returned 0. It wanted 300 more; the hold cut that off. Its hold was in cycle 2026-10.",
  );
});

test("the entry of a job needs the facts of that job", () => {
  expect(() => whyText(facts(jobOrigin, 1), formatTime, planName)).toThrow("no facts of job job-1");
});

test.each([
  [{ kind: "move", correctsEntryId: "e1" }, -1, "Correction: 1 click less", "together they add nothing"],
  [{ kind: "move", correctsEntryId: "e1" }, 1, "Correction: 1 click more", "booked on 2026-11-19T12:05"],
  [{ kind: "take_back", correctsEntryId: "e1" }, -2, "Correction: 2 clicks less", "Entry e1 of"],
  [{ kind: "carry_over", reviewId: "r1" }, 5, "Correction: 5 clicks more", "Review r1 carried"],
  [{ kind: "write_off", reviewId: "r1" }, -5, "Correction: 5 clicks less", "Review r1 wrote"],
] as const)("%j of %i units", (origin, units, title, text) => {
  const why = whyText(facts(origin, units), formatTime, planName);
  expect(why.title).toBe(title);
  expect(why.reasons[0]).toContain(text);
});

test("an entry that was moved says when, where to and by which row, and the totals are of that meter", () => {
  const moved = {
    entryId: "e2",
    bookedAtMs: AT + 300_000,
    agreementId: "agreement_2",
    planKey: "max",
    cycle: "2026-11",
  };
  const { reasons } = whyText(facts(click(), 1, { moved }), formatTime, planName);
  expect(reasons.slice(1, 4)).toEqual([
    'It was booked in the meter "clicks" of the plan PRO, cycle 2026-10: from 2026-10-20T15:29 up to 2026-11-20T15:29.',
    'On 2026-11-19T12:05 it was moved to the meter "clicks" of the plan MAX, cycle 2026-11, because a change of the ' +
      "agreement was learnt late: entry e2. It is billed there, and the first meter has nothing of it.",
    "The last total sent for this meter, and taken by the provider, is 8,457 clicks, on 2026-11-19T12:01. Its total in the ledger is 8,460 clicks.",
  ]);
  const nowhere = { ...moved, agreementId: null, planKey: null };
  const lost = whyText(facts(click(), 1, { moved: nowhere }), formatTime, planName).reasons;
  expect(lost[2]).toContain("with no agreement in force");
  expect(lost[3]).toMatch(/^Nothing of this meter is sent/);
});

test("what the meter itself showed is told beside what was sent, and a reading that differed as such", () => {
  const reading = {
    foundUnits: 8_460,
    meterUnits: 8_460,
    ledgerUnits: 8_460,
    status: "proven",
    atMs: AT,
    isSeenAgain: false,
  } as const;
  const last = (proof: Partial<WhyFacts["proof"]>) =>
    whyText(
      facts(click(), 1, { proof: { isAtProvider: true, standing: "proven", reading, ...proof } }),
      formatTime,
      planName,
    ).reasons.at(-1);
  expect(last({})).toBe("Proven on 2026-11-19T12:00: the provider showed 8,460, the ledger had 8,460.");
  const differed = { ...reading, foundUnits: 8_467, status: "error" } as const;
  expect(last({ standing: "error", reading: differed })).toContain("provider 8,467, ledger 8,460");
});

test("of an account without a customer at the provider nothing is called sent", () => {
  const proof = { isAtProvider: false, standing: "kept_here", reading: null } as const;
  const { reasons } = whyText(facts(click(), 1, { proof }), formatTime, planName);
  expect(reasons.at(-2)).toMatch(/^Nothing of this meter is sent to the provider\./);
  expect(reasons.at(-1)).toContain("no customer at the billing provider");
});

test("without an agreement, or before a report, it says so", () => {
  const meter = { accountId: "acc", agreementId: null, feature: "clicks", cycle: "2026-10" };
  expect(
    whyText(
      facts(click(), 1, { meter, agreement: null, proof: unmetered }),
      formatTime,
      planName,
    ).reasons.slice(-3),
  ).toEqual([
    'It is in the meter "clicks" with no agreement in force, cycle 2026-10: from 2026-10-20T15:29 up to 2026-11-20T15:29.',
    "Nothing of this meter is sent to the provider. Its total in the ledger is 8,460 clicks.",
    "No agreement was in force, so no provider's meter has to follow it.",
  ]);
  expect(whyText(facts(click(), 1, { confirmed: null }), formatTime, planName).reasons.at(-2)).toBe(
    "No total of this meter has been confirmed by the provider yet. Its total in the ledger is 8,460 clicks.",
  );
});

test("an agreement that began within the cycle says when, and one of an unknown plan says that", () => {
  const fromMs = Date.parse("2026-11-10T08:00:00Z");
  const reasons = (agreement: WhyFacts["agreement"]) =>
    whyText(facts(click(), 1, { agreement }), formatTime, planName).reasons.join(" ");
  expect(reasons({ planKey: "pro", fromMs })).toContain(
    "up to 2026-11-20T15:29. The agreement began within it, on 2026-11-10T08:00.",
  );
  expect(reasons({ planKey: "pro", fromMs: Date.parse("2026-10-20T15:29:00Z") })).not.toContain(
    "began within",
  );
  expect(reasons({ planKey: null, fromMs: 0 })).toContain("of an agreement whose plan is not known, cycle");
});
