import type { FunctionReturnType } from "convex/server";
import type { api } from "../../../convex/_generated/api";
import { formatUnits } from "../../components/format.ts";
import { Notice } from "../../components/notice.tsx";
import { agreementMark, describeCounts } from "./words.ts";

export type Ran = Extract<FunctionReturnType<typeof api.ops.reconcile>, { kind: "ran" }>;
type Meter = Ran["meters"][number];

const LISTED = 10;

/** What a run that was asked for has found: the sums, and each meter that was not simply right. */
export function RunResult({ ran: { status, counts, meters } }: { ran: Ran }) {
  const { went, found } = describeCounts(counts);
  const news = meters.filter(({ status }) => status !== "proven" && status !== "kept_here");
  const needsLook = news.some((meter) => meter.status !== "repaired_and_confirmed");
  const title = {
    good: needsLook ? "The run ended, and something is left to look at" : "The run ended well",
    failed: "The run ended, and not every meter could be repaired",
    running: "There is much to do: the run goes on in the background",
  }[status];
  const tone = status === "failed" ? "bad" : needsLook ? "warn" : status === "running" ? "info" : "good";
  return (
    <Notice isNews tone={tone} title={title}>
      <p>
        {went}: {found}.
      </p>
      {news.length > 0 && (
        <ul className="mt-2 flex list-disc flex-col gap-1 pl-4">
          {news.slice(0, LISTED).map((meter) => (
            <li key={meter.meterId}>{describeMeter(meter, meters)}</li>
          ))}
        </ul>
      )}
      {news.length > LISTED && <p>And {news.length - LISTED} more; the list below has them.</p>}
    </Notice>
  );
}

function describeMeter(meter: Meter, all: readonly Meter[]): string {
  const { accountName, feature, isAtProvider, cycle, meterUnits, ledgerUnits, readBackUnits, status, error } =
    meter;
  const mark = agreementMark(
    meter,
    all.filter((other) => other.accountName === accountName),
  );
  const name = `${accountName}, ${feature} ${cycle}${mark === null ? "" : ` (${mark})`}`;
  const showed = meterUnits === null ? "could not be read" : `showed ${formatUnits(meterUnits)}`;
  const what = `${name}: ${isAtProvider ? "the meter" : "the own copy"} ${showed}, the ledger ${formatUnits(ledgerUnits)}`;
  if (status === "repaired_and_confirmed") {
    return `${what}. ${formatUnits(ledgerUnits)} was written and ${formatUnits(readBackUnits ?? ledgerUnits)} read back.`;
  }
  return `${what}. ${error ?? "It waits for a decision."}`;
}
