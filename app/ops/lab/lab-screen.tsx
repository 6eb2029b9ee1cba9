"use client";

import { useQuery } from "convex/react";
import { useState } from "react";
import { api } from "../../../convex/_generated/api";
import { ScreenHead } from "../../components/panel.tsx";
import type { Speed } from "../../components/use-player.ts";
import { Idea } from "./idea.tsx";
import { LabForm } from "./lab-form.tsx";
import { LabRun } from "./lab-run.tsx";
import { PastRuns } from "./past-runs.tsx";

interface Shown {
  readonly labRunId: string;
  /** Just started here: it plays by itself. */
  readonly isFresh: boolean;
  /** Whether the reader chose it, or it was there when the screen was opened. */
  readonly isAsked: boolean;
}

export function LabScreen() {
  const newest = useQuery(api.lab.list, { cursor: null });
  const [shown, setShown] = useState<Shown | null>(null);
  const [speed, setSpeed] = useState<Speed>("normal");
  // The newest run when the screen is opened; one that somebody else starts later does not push it away.
  const first = newest?.runs[0];
  if (shown === null && first !== undefined)
    setShown({ labRunId: first.labRunId, isFresh: false, isAsked: false });

  return (
    <>
      <ScreenHead title="Concurrency Lab">
        Many jobs ask for the last of a limit at the same moment. A plain check lets them all in, because it
        does not know about jobs that still run. A hold sets aside what a job may use before it starts.
      </ScreenHead>
      <LabForm onStarted={(labRunId) => setShown({ labRunId, isFresh: true, isAsked: true })} />
      {shown !== null ? (
        <LabRun key={shown.labRunId} {...shown} speed={speed} onSpeed={setSpeed} />
      ) : (
        newest !== undefined && <Idea />
      )}
      <PastRuns
        shownId={shown?.labRunId ?? null}
        onOpen={(labRunId) => setShown({ labRunId, isFresh: false, isAsked: true })}
      />
    </>
  );
}
