import type { ClickClass } from "../../../lib/ledger/classify.ts";
import type { Tone } from "../../components/badge.tsx";

interface Look {
  readonly name: string;
  readonly tone: Tone;
  readonly color: 1 | 2 | 3 | 4 | 5 | 6;
}

/** How the classes of clicks are named and painted; the order is that of the chart, from the bottom. */
export const CLICK_CLASSES: Readonly<Record<ClickClass, Look>> = {
  billable: { name: "Billed", tone: "good", color: 1 },
  bot: { name: "Program", tone: "neutral", color: 4 },
  prefetch: { name: "Prefetch", tone: "neutral", color: 3 },
  head: { name: "Headers only", tone: "neutral", color: 6 },
  over_cap: { name: "Over the cap", tone: "warn", color: 2 },
  inactive: { name: "Link inactive", tone: "neutral", color: 5 },
};
