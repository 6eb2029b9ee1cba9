"use client";

import { useAction, useQuery } from "convex/react";
import { useState } from "react";
import { api } from "../../convex/_generated/api";
import { formatDuration } from "../components/format.ts";
import { Button } from "../components/button.tsx";
import { Panel } from "../components/panel.tsx";
import { Loading } from "../components/states.tsx";
import { useNow } from "../components/use-now.ts";

/** The periodic workers: when each last ran well, live. */
export function HealthPanel() {
  const health = useQuery(api.health.forOperators, {});
  const sweep = useAction(api.ops.sweep);
  const nowMs = useNow();
  const [swept, setSwept] = useState<string | null>(null);

  async function onSweep() {
    try {
      const { expired } = await sweep({});
      setSwept(expired === 0 ? "Swept: no lease had ended." : `Swept: ${expired} jobs expired.`);
    } catch {
      setSwept("The sweep failed; the log of Convex says why.");
    }
  }

  return (
    <Panel
      id="health"
      title="Background workers"
      aside={
        <Button size="sm" onClick={() => void onSweep()}>
          Sweep now
        </Button>
      }
    >
      <p role="status" className="text-sm text-muted">
        {swept}
      </p>
      {health === undefined ? (
        <Loading what="the workers" />
      ) : (
        <ul className="grid gap-3 sm:grid-cols-2">
          {health.runs.map((run) => (
            <li key={run.name} className="rounded border border-line p-3 text-sm">
              <p className="font-medium">
                {run.name}{" "}
                <span className={run.status === "failed" ? "text-bad" : "text-good"}>{run.status}</span>
              </p>
              <p className="text-muted">
                {run.lastGoodAtMs === null
                  ? "has not finished a run yet"
                  : nowMs !== null && `last good run ${formatDuration(nowMs - run.lastGoodAtMs)} ago`}
              </p>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}
