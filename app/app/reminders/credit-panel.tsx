"use client";

import { useMutation, useQuery } from "convex/react";
import { useEffect } from "react";
import { api } from "../../../convex/_generated/api";
import { formatUnits } from "../../components/format.ts";
import { MeterBar, MeterMark } from "../../components/meter-bar.tsx";
import { Figure, Figures, Panel } from "../../components/panel.tsx";
import { Loading } from "../../components/states.tsx";
import { Instant } from "../../components/time.tsx";
import { useNow } from "../../components/use-now.ts";
import { planName } from "../plan/plans.ts";
import { type CreditBalance, useCredits } from "./use-credits.ts";

/** The credits of this month, live. Writes the grant of the month when no event brought it before. */
export function CreditPanel() {
  const balance = useCredits();
  const me = useQuery(api.signIn.me, {});
  const ensure = useMutation(api.credits.ensure);
  const nowMs = useNow();
  const isOver = balance === undefined || nowMs === null ? null : nowMs >= balance.nextPeriodStartMs;
  useEffect(() => {
    // Once for the month that is shown, and once when it is over. Without an answer the first reminder writes it.
    if (isOver !== null) ensure({}).catch(() => undefined);
  }, [ensure, isOver]);

  return (
    <Panel
      id="credits"
      title="Credits of this month"
      about="One reminder costs one credit. What is left at the end of the month ends with it."
      aside={
        me == null ? undefined : (
          <p className="text-sm text-muted">
            Plan <span className="font-medium text-ink">{planName(me.planKey)}</span>
          </p>
        )
      }
    >
      {balance === undefined ? <Loading what="your credits" /> : <Balance balance={balance} />}
    </Panel>
  );
}

function Balance({ balance }: { balance: CreditBalance }) {
  const { grantedUnits, takenUnits, returnedUnits, leftUnits, nextPeriodStartMs } = balance;
  const usedUnits = takenUnits - returnedUnits;
  return (
    <>
      <MeterBar
        label={`${formatUnits(usedUnits)} of ${formatUnits(grantedUnits)} credits used`}
        whole={grantedUnits}
        parts={[{ name: "used", units: usedUnits, look: "used" }]}
      />
      <Figures>
        <Figure name="Used" mark={<MeterMark look="used" />}>
          {formatUnits(usedUnits)}
        </Figure>
        <Figure name="Left" mark={<MeterMark look="free" />}>
          {formatUnits(leftUnits)}
        </Figure>
        <Figure name="Allowance">{formatUnits(grantedUnits)}</Figure>
        <Figure name="Renews">
          <span className="text-base">
            <Instant ms={nextPeriodStartMs} />
          </span>
        </Figure>
      </Figures>
    </>
  );
}
