"use client";

import { useQuery } from "convex/react";
import { api } from "../../convex/_generated/api";
import { formatDuration, formatInstant, formatUnits } from "../components/format.ts";
import { Loading, Panel } from "../components/panel.tsx";
import { useNow } from "../components/use-now.ts";

/** What is used, held and free of the token limit in this cycle, live. */
export function UsagePanel() {
  const usage = useQuery(api.gate.usage, {});
  const me = useQuery(api.signIn.me, {});
  const nowMs = useNow();
  const plan = me?.planKey ?? null;
  return (
    <Panel
      id="usage"
      title="Usage"
      aside={
        <p className="text-sm text-muted">
          {plan !== null && (
            <>
              Plan <code className="font-mono text-ink">{plan}</code>{" "}
            </>
          )}
          <a href="/app/plan/change" className="text-accent underline underline-offset-4">
            Change plan
          </a>
        </p>
      }
    >
      {usage === undefined ? (
        <Loading what="your usage" />
      ) : (
        <>
          <UsageBar used={usage.usedUnits} held={usage.heldUnits} limit={usage.limit?.limitUnits ?? null} />
          <dl className="grid grid-cols-2 gap-x-4 gap-y-3 text-sm sm:grid-cols-4">
            <Figure name="Used" value={formatUnits(usage.usedUnits)} />
            <Figure name="Held" value={formatUnits(usage.heldUnits)} />
            <Figure name="Free" value={freeText(usage)} />
            <Figure name="Limit" value={limitText(usage.limit)} />
          </dl>
          <p className="text-sm text-muted">
            {usage.limit === null
              ? "The limit has not been read yet; the first job reads it."
              : nowMs !== null &&
                `Limit read ${formatDuration(nowMs - usage.limit.readAtMs)} ago from ${usage.limit.provider}. `}
            {nowMs !== null && `The cycle ${usage.cycle.name} ends on ${formatInstant(usage.cycle.endMs)}.`}
          </p>
        </>
      )}
    </Panel>
  );
}

function Figure({ name, value }: { name: string; value: string }) {
  return (
    <div>
      <dt className="text-muted">{name}</dt>
      <dd className="text-lg font-medium tabular-nums">{value}</dd>
    </div>
  );
}

function freeText({ limit, freeUnits }: { limit: object | null; freeUnits: number | null }): string {
  if (limit === null) return "not known";
  return freeUnits === null ? "unlimited" : formatUnits(freeUnits);
}

function limitText(limit: { limitUnits: number | null } | null): string {
  if (limit === null) return "not known";
  return limit.limitUnits === null ? "unlimited" : formatUnits(limit.limitUnits);
}

/** The bar is a picture of the figures beside it, so it is hidden from readers that cannot see it. */
function UsageBar({ used, held, limit }: { used: number; held: number; limit: number | null }) {
  const whole = Math.max(limit ?? 0, used + held, 1);
  return (
    <div aria-hidden className="flex h-4 overflow-hidden rounded border border-line bg-page">
      <div
        className="bg-accent transition-[width] motion-reduce:transition-none"
        style={{ width: `${(used / whole) * 100}%` }}
      />
      <div
        className="bg-warn transition-[width] motion-reduce:transition-none"
        style={{ width: `${(held / whole) * 100}%` }}
      />
    </div>
  );
}
