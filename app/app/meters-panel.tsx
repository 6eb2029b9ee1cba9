"use client";

import type { FunctionReturnType } from "convex/server";
import { api } from "../../convex/_generated/api";
import { proofText } from "../../lib/ledger/proof.ts";
import type { Standing } from "../../lib/ledger/standing.ts";
import { Badge, type Tone } from "../components/badge.tsx";
import { formatInstant, formatUnits } from "../components/format.ts";
import { Figure, Figures, Panel } from "../components/panel.tsx";
import { Loading } from "../components/states.tsx";
import { Instant } from "../components/time.tsx";
import { useUntilEnd } from "../components/use-until-end.ts";
import { planName } from "./plan/plans.ts";

type Meter = FunctionReturnType<typeof api.screensUsage.meters>["meters"][number];

/** Whether the meters that the account is billed by show what the ledger has. */
export function MetersPanel() {
  const found = useUntilEnd(api.screensUsage.meters, {}, ({ cycle }) => cycle.endMs);
  return (
    <Panel
      id="meters"
      title="Meters"
      about="What is billed is what the provider's meter shows. The ledger is the sum of your entries; a reconciliation reads the meter and compares the two."
    >
      {found === undefined ? (
        <Loading what="your meters" rows={4} />
      ) : (
        <ul aria-label="Meters" className="flex flex-col gap-4">
          {shownMeters(found.meters).map((meter) => (
            <li key={meter.id} className="border-line not-first:border-t not-first:pt-4">
              <MeterItem meter={meter} all={found.meters} />
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}

type Shown = Meter | { readonly id: string; readonly feature: string; readonly ledgerUnits: 0 };

/** A feature of which nothing was counted yet has no meter; that it comes to nothing is told all the same. */
function shownMeters(meters: readonly Meter[]): readonly Shown[] {
  return ["clicks", "tokens"].flatMap((feature): readonly Shown[] => {
    const ofFeature = meters.filter((meter) => meter.feature === feature);
    return ofFeature.length > 0 ? ofFeature : [{ id: feature, feature, ledgerUnits: 0 }];
  });
}

function MeterItem({ meter, all }: { meter: Shown; all: readonly Meter[] }) {
  const name = meter.feature === "clicks" ? "Clicks" : "Tokens";
  if (!("standing" in meter)) {
    return (
      <p className="text-sm text-pretty">
        <span className="font-medium">{name}</span>{" "}
        <span className="text-muted">Nothing was billed in this cycle, so there is no meter yet.</span>
      </p>
    );
  }
  const { sent, ledgerUnits, planKey } = meter;
  const isAlone = all.filter(({ feature }) => feature === meter.feature).length === 1;
  const badge = badgeOf(meter);
  return (
    <div className="flex flex-col gap-2">
      <div className="flex flex-wrap items-center gap-2">
        <h3 className="text-sm font-medium">
          {name}
          {!isAlone && (planKey === null ? ", no known plan" : `, plan ${planName(planKey)}`)}
        </h3>
        <Badge tone={badge.tone}>{badge.name}</Badge>
      </div>
      <Figures>
        <Figure name="Ledger">{formatUnits(ledgerUnits)}</Figure>
        <Figure name="Last sent">{sent === null ? "nothing" : formatUnits(sent.totalUnits)}</Figure>
        <Figure name="Provider's meter">{readUnits(meter)}</Figure>
      </Figures>
      <p className="text-sm text-pretty text-muted">
        {sent !== null && (
          <>
            Sent <Instant ms={sent.atMs} />.{" "}
          </>
        )}
        {proofText(meter, formatInstant)}
      </p>
    </div>
  );
}

function readUnits({ isAtProvider, standing, reading }: Meter): string {
  if (!isAtProvider || standing === "unmetered") return "none";
  const units = reading?.meterUnits ?? reading?.foundUnits ?? null;
  return units === null ? "not read" : formatUnits(units);
}

const BADGES: Partial<Record<Standing, { name: string; tone: Tone }>> = {
  proven: { name: "Proven", tone: "good" },
  repaired: { name: "Put right", tone: "good" },
  error: { name: "Differed", tone: "warn" },
  needs_review: { name: "Differed", tone: "warn" },
  accepted: { name: "Differs, accepted", tone: "neutral" },
  unreadable: { name: "Not readable", tone: "warn" },
  failing: { name: "Report fails", tone: "warn" },
  kept_here: { name: "No provider meter", tone: "neutral" },
  unmetered: { name: "No agreement", tone: "neutral" },
};

/** A proof of an older total stays one, and says so in its sentence. */
function badgeOf({ standing, reading }: Meter): { name: string; tone: Tone } {
  const isOlder = reading?.status === "proven" || reading?.status === "repaired_and_confirmed";
  return BADGES[standing] ?? { name: isOlder ? "Proven before" : "Not proven yet", tone: "accent" };
}
