"use client";

import type { ReactNode } from "react";
import { Badge } from "../../components/badge.tsx";
import { Button, ButtonLink } from "../../components/button.tsx";
import { formatUnits } from "../../components/format.ts";
import { Ago, Instant } from "../../components/time.tsx";
import { OwnerLink } from "../owner-link.tsx";
import { type Decision, DECISIONS, kindOf, type ReviewView } from "./words.ts";

const METER_KINDS: readonly string[] = ["late_usage", "closed_cycle_drift", "repeated_failure"];

/** One review: what it is, the evidence, and the decision or the way to it. */
export function ReviewItem({ review, onDecide }: { review: ReviewView; onDecide: () => void }) {
  const { name, about } = kindOf(review.kind);
  const isOpen = review.status === "open";
  return (
    <li className="flex flex-col gap-3 py-5 first:pt-1 last:pb-1">
      <div className="flex flex-wrap items-start justify-between gap-x-4 gap-y-2">
        <div className="flex min-w-0 flex-col gap-1">
          <h3 className="flex flex-wrap items-center gap-2 text-sm font-semibold">
            {name}
            {review.decision !== null && (
              <Badge tone="good">{DECISIONS[review.decision as Decision]?.done ?? review.decision}</Badge>
            )}
          </h3>
          <p className="flex flex-wrap items-center gap-x-2 text-sm text-muted">
            {review.account !== null && <OwnerLink account={review.account} />}
            <span>
              opened <Ago ms={review.openedAtMs} />
            </span>
          </p>
        </div>
        <div className="flex flex-wrap gap-2">
          <Evidence review={review} />
          {isOpen && (
            <Button size="sm" look="primary" onClick={onDecide}>
              Decide<span className="sr-only"> on: {review.detail}</span>
            </Button>
          )}
        </div>
      </div>
      <p className="text-sm break-words">{review.detail}</p>
      {review.late !== null && (
        <dl className="grid grid-cols-2 gap-3 text-sm sm:flex sm:gap-8">
          <Fact name="Ledger">{formatUnits(review.late.ledgerUnits)}</Fact>
          <Fact name="Sent in time">{formatUnits(review.late.sentUnits)}</Fact>
          {review.late.maybeSentUnits !== null && (
            <Fact name="Sent without an answer">{formatUnits(review.late.maybeSentUnits)}</Fact>
          )}
          <Fact name="Late">{formatUnits(review.late.lateUnits)}</Fact>
        </dl>
      )}
      {isOpen ? (
        <p className="text-sm text-muted">{about}</p>
      ) : (
        <p className="text-sm text-muted">
          Decided by <span className="font-mono text-xs">{review.decidedBy}</span>
          {review.decidedAtMs !== null && (
            <>
              {" "}
              on <Instant ms={review.decidedAtMs} />
            </>
          )}
          {review.note !== null && review.note !== "" && <>: {review.note}</>}
        </p>
      )}
    </li>
  );
}

function Evidence({ review: { kind, accountId } }: { review: ReviewView }) {
  if (METER_KINDS.includes(kind) && accountId !== null) {
    return (
      <ButtonLink size="sm" href={`/ops/reconciliation/${accountId}`}>
        Evidence
      </ButtonLink>
    );
  }
  if (kind === "dead_event") {
    return (
      <ButtonLink size="sm" href="/ops/inbox?status=dead">
        Dead letters
      </ButtonLink>
    );
  }
  return kind === "missed_webhooks" || kind === "customer_gone" ? (
    <ButtonLink size="sm" href="/ops/drift">
      Plan drift
    </ButtonLink>
  ) : null;
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div>
      <dt className="text-xs text-muted">{name}</dt>
      <dd className="font-medium tabular-nums">{children}</dd>
    </div>
  );
}
