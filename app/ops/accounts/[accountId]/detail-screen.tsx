"use client";

import type { FunctionReturnType } from "convex/server";
import { SearchX } from "lucide-react";
import type { ReactNode } from "react";
import { api } from "../../../../convex/_generated/api";
import { planName } from "../../../app/plan/plans.ts";
import { BackLink } from "../../../components/back-link.tsx";
import { ButtonLink } from "../../../components/button.tsx";
import { formatUnits } from "../../../components/format.ts";
import { freeFigure, limitFigure, ofLimit, wholeOf } from "../../../components/limit-text.ts";
import { Notice } from "../../../components/notice.tsx";
import { Figure, Figures, Panel, ScreenHead } from "../../../components/panel.tsx";
import { MeterBar, MeterMark } from "../../../components/meter-bar.tsx";
import { Empty, Loading } from "../../../components/states.tsx";
import { Ago, Instant } from "../../../components/time.tsx";
import { useUntilEnd } from "../../../components/use-until-end.ts";
import { AccountState } from "../accounts-screen.tsx";
import { ActsPanel } from "./acts-panel.tsx";
import { ToldPanels } from "./told-panels.tsx";

export type AccountView = NonNullable<FunctionReturnType<typeof api.screensAccounts.get>>;

/** One account: plan, limit, usage, what stands in its way, and what an operator can do about it. */
export function DetailScreen({ accountId }: { accountId: string }) {
  const account = useUntilEnd(api.screensAccounts.get, { accountId }, ({ cycle }) => cycle.endMs);
  if (account === undefined) return <Loading what="the account" rows={6} />;
  if (account === null) {
    return (
      <Empty
        icon={SearchX}
        title="There is no such account"
        action={<ButtonLink href="/ops/accounts">All accounts</ButtonLink>}
      />
    );
  }
  return (
    <>
      <div className="flex flex-col gap-3">
        <BackLink href="/ops/accounts">All accounts</BackLink>
        <ScreenHead
          title={account.name}
          action={<ButtonLink href={`/ops/reconciliation/${account.id}`}>Meters and evidence</ButtonLink>}
        >
          {account.email !== null && account.email !== account.name ? account.email : "Made"}{" "}
          {account.email !== null && account.email !== account.name && "· made "}
          <Instant ms={account.createdAtMs} />
        </ScreenHead>
      </div>
      <Standing account={account} />
      <UsagePanel account={account} />
      <ToldPanels accountId={account.id} cycle={account.cycle.name} />
      <ActsPanel account={account} />
      <FactsPanel account={account} />
    </>
  );
}

function Standing({ account: { overdueSinceMs, deletedAtMs, limitFailure } }: { account: AccountView }) {
  return (
    <>
      {deletedAtMs !== null && (
        <Notice tone="info" title="This account was deleted">
          <Ago ms={deletedAtMs} />. The ledger stays; nobody signs in to it any more.
        </Notice>
      )}
      {overdueSinceMs !== null && (
        <Notice
          tone="bad"
          title="An invoice is overdue"
          next="Whether that stops new jobs is set under Settings; it ends with the payment."
        >
          Since <Instant ms={overdueSinceMs} />.
        </Notice>
      )}
      {limitFailure !== null && (
        <Notice
          tone="warn"
          title="The limit could not be read from the provider"
          next="The last limit serves until it is ten minutes old. Then new jobs are refused until a read succeeds."
        >
          {limitFailure.reason}, <Ago ms={limitFailure.atMs} />.
        </Notice>
      )}
    </>
  );
}

function UsagePanel({ account }: { account: AccountView }) {
  const { usedUnits, heldUnits, freeUnits, limit, cycle } = account;
  return (
    <Panel
      id="usage"
      title={`Tokens in the cycle ${cycle.name}`}
      about={
        <>
          Until <Instant ms={cycle.endMs} />.{" "}
          {limit !== null && (
            <>
              The limit was read <Ago ms={limit.readAtMs} />.
            </>
          )}
        </>
      }
      aside={<AccountState account={account} />}
    >
      <MeterBar
        label={`${formatUnits(usedUnits)} used, ${formatUnits(heldUnits)} held ${ofLimit(limit)}`}
        whole={wholeOf(limit)}
        parts={[
          { name: "used", units: usedUnits, look: "used" },
          { name: "held", units: heldUnits, look: "held" },
        ]}
      />
      <Figures>
        <Figure name="Used" mark={<MeterMark look="used" />}>
          {formatUnits(usedUnits)}
        </Figure>
        <Figure name="Held" mark={<MeterMark look="held" />}>
          {formatUnits(heldUnits)}
        </Figure>
        <Figure name="Free" mark={<MeterMark look="free" />}>
          {freeFigure(limit, freeUnits)}
        </Figure>
        <Figure name="Limit">{limitFigure(limit)}</Figure>
      </Figures>
    </Panel>
  );
}

const ANCHORS: Record<AccountView["cycleAnchorSource"], string> = {
  operator: "set by an operator",
  subscription: "the provider's sign-up date",
  agreement: "the start of the first agreement",
  creation: "when the account was made",
};

function FactsPanel({ account }: { account: AccountView }) {
  const { provider, planKey, jobsPerMinute, cycle, cycleAnchorSource, cycleAnchorFrozenAtMs } = account;
  return (
    <Panel id="facts" title="What is known">
      <dl className="grid gap-x-6 gap-y-0.5 text-sm sm:gap-y-2 sm:grid-cols-[11rem_minmax(0,1fr)]">
        <Fact name="Plan">
          {provider === "kinde" ? `${planName(planKey)} (${planKey})` : "The limit is set here, by hand."}
        </Fact>
        <Fact name="New jobs a minute">{formatUnits(jobsPerMinute)}</Fact>
        <Fact name="Cycle">
          <Instant ms={cycle.startMs} /> to <Instant ms={cycle.endMs} />; counted from{" "}
          {ANCHORS[cycleAnchorSource]}
          {cycleAnchorFrozenAtMs === null ? ", until the first use fixes it" : ", fixed by the first use"}
        </Fact>
        <Fact name="Agreements">
          {account.agreements.length === 0
            ? "none is known"
            : account.agreements.map(({ agreementId, planKey: key, fromMs, untilMs }) => (
                <span key={agreementId} className="block break-words">
                  {key === null ? "no plan" : planName(key)},{" "}
                  {fromMs === 0 ? "always" : <Instant ms={fromMs} />}
                  {untilMs === null ? " on" : " to "}
                  {untilMs !== null && <Instant ms={untilMs} />}{" "}
                  <span className="font-mono text-xs text-muted">{agreementId}</span>
                </span>
              ))}
        </Fact>
        <Fact name="Account id">
          <Id text={account.id} />
        </Fact>
        <Fact name="User at the provider">
          <Id text={account.kindeUserId} />
        </Fact>
        <Fact name="Customer at the provider">
          <Id text={account.customerId} />
        </Fact>
        {account.mergedIntoAccountId !== null && (
          <Fact name="Merged into">
            <Id text={account.mergedIntoAccountId} />
          </Fact>
        )}
      </dl>
    </Panel>
  );
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <>
      <dt className="text-muted">{name}</dt>
      <dd className="mb-2 min-w-0 sm:mb-0">{children}</dd>
    </>
  );
}

function Id({ text }: { text: string | null }) {
  return text === null ? (
    <span className="text-muted">none</span>
  ) : (
    <span className="font-mono text-xs break-all">{text}</span>
  );
}
