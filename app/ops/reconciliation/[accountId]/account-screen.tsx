"use client";

import { useAction, useQuery } from "convex/react";
import { Play, SearchX } from "lucide-react";
import Link from "next/link";
import { useState } from "react";
import { api } from "../../../../convex/_generated/api";
import { BackLink } from "../../../components/back-link.tsx";
import { Button, ButtonLink, linkClass } from "../../../components/button.tsx";
import { ScreenHead } from "../../../components/panel.tsx";
import { Empty, Loading } from "../../../components/states.tsx";
import { toast } from "../../../components/toast.tsx";
import { type Ran, RunResult } from "../run-result.tsx";
import { EvidencePanel } from "./evidence-panel.tsx";
import { MeterPanel } from "./meter-panel.tsx";

/** One account: its meters now, and everything that reconciliation has found and done. */
export function AccountScreen({ accountId }: { accountId: string }) {
  const account = useQuery(api.screensReconciliation.account, { accountId });
  const reconcile = useAction(api.ops.reconcile);
  const [isBusy, setIsBusy] = useState(false);
  const [ran, setRan] = useState<Ran | null>(null);

  async function onRun() {
    setIsBusy(true);
    setRan(null);
    try {
      const answer = await reconcile({ accountId });
      if (answer.kind === "ran") setRan(answer);
      else toast.failed("The meters could not be compared", "There is no such account any more.");
    } catch {
      toast.failed("The meters could not be compared", "The log of Convex says why.");
    } finally {
      setIsBusy(false);
    }
  }

  if (account === undefined) return <Loading what="the account" rows={6} />;
  if (account === null) {
    return (
      <Empty
        icon={SearchX}
        title="There is no such account"
        action={<ButtonLink href="/ops/reconciliation">All meters</ButtonLink>}
      />
    );
  }
  return (
    <>
      <div className="flex flex-col gap-3">
        <BackLink href="/ops/reconciliation">All meters</BackLink>
        <ScreenHead
          title={account.name}
          action={
            <Button look="primary" isBusy={isBusy} onClick={() => void onRun()}>
              {!isBusy && <Play aria-hidden className="size-4" />}
              Read its meters now
            </Button>
          }
        >
          {account.email !== null && account.email !== account.name && <>{account.email} · </>}
          <Link href={`/ops/accounts/${account.id}`} prefetch={false} className={linkClass}>
            Open the account
          </Link>
        </ScreenHead>
      </div>
      {ran !== null && <RunResult ran={ran} />}
      {account.meters.length === 0 && (
        <Empty icon={SearchX} title="No meter">
          Nothing was counted for this account in the last two cycles.
        </Empty>
      )}
      {account.meters.map((meter) => (
        <MeterPanel key={meter.id} meter={meter} />
      ))}
      <EvidencePanel accountId={account.id} />
    </>
  );
}
