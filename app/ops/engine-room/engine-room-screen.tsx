"use client";

import { useQuery } from "convex/react";
import { Shuffle } from "lucide-react";
import { useState } from "react";
import { api } from "../../../convex/_generated/api";
import { ScreenHead } from "../../components/panel.tsx";
import { Empty, Loading } from "../../components/states.tsx";
import type { Speed } from "../../components/use-player.ts";
import { OrderForm } from "./order-form.tsx";
import { RoomRun } from "./room-run.tsx";

interface Shown {
  readonly runId: string;
  /** Just started here: it plays by itself. */
  readonly isFresh: boolean;
}

export function EngineRoomScreen() {
  const latest = useQuery(api.engineRoom.latest, {});
  const [shown, setShown] = useState<Shown | null>(null);
  const run = useQuery(api.engineRoom.get, shown === null ? "skip" : { runId: shown.runId });
  const [speed, setSpeed] = useState<Speed>("normal");
  // The latest run when the screen is opened; one that somebody else starts later does not push it away.
  if (shown === null && latest) setShown({ runId: latest.runId, isFresh: false });

  const isLoading = latest === undefined || (shown !== null && run === undefined);
  return (
    <>
      <ScreenHead title="Engine Room">
        Billing events come late, twice and in the wrong order, and workers die half-way. See what that does
        to a handler that trusts them, and why it does nothing to Holdfast.
      </ScreenHead>
      <OrderForm shownSeed={run?.seed ?? null} onStarted={(runId) => setShown({ runId, isFresh: true })} />
      {isLoading ? (
        <Loading what="the run" rows={6} />
      ) : run ? (
        <RoomRun
          key={run.runId}
          run={run}
          isFresh={shown?.isFresh === true}
          speed={speed}
          onSpeed={setSpeed}
        />
      ) : (
        <Empty icon={Shuffle} title="No run yet">
          Run the nine: they go through the inbox of this installation, for a customer who is made for it, and
          beside it through a handler as tutorials show it.
        </Empty>
      )}
    </>
  );
}
