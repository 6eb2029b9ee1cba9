"use client";

import { useMutation } from "convex/react";
import { ConvexError } from "convex/values";
import { ListOrdered, Shuffle } from "lucide-react";
import { useState } from "react";
import { api } from "../../../convex/_generated/api";
import { checkUnits } from "../../../lib/shared/units.ts";
import { Button } from "../../components/button.tsx";
import { TextField } from "../../components/field.tsx";
import { formatUnits } from "../../components/format.ts";
import { Notice } from "../../components/notice.tsx";
import { Panel } from "../../components/panel.tsx";

/** As large as the functions take it; those that the button makes are short enough to be said. */
const SEED_MAX = 2 ** 32 - 1;
const SHORT_SEEDS = 10_000;

type Started = "order" | "shuffle" | "seed";

/** Starts a run: the order of the published case, or another one, which its seed tells. */
export function OrderForm(props: { shownSeed: number | null; onStarted: (runId: string) => void }) {
  const start = useMutation(api.engineRoom.start);
  // Null until it is typed in: the field shows the seed of the run that is shown.
  const [typed, setTyped] = useState<string | null>(null);
  const [starting, setStarting] = useState<Started | null>(null);
  const [fault, setFault] = useState<string | null>(null);
  const [seedFault, setSeedFault] = useState<string | undefined>(undefined);
  const seed = typed ?? (props.shownSeed === null ? "" : String(props.shownSeed));

  async function run(what: Started, args: { seed?: number }) {
    setStarting(what);
    setFault(null);
    setSeedFault(undefined);
    try {
      const { runId } = await start(args);
      setTyped(null);
      props.onStarted(runId);
    } catch (error) {
      const data = error instanceof ConvexError ? (error.data as { message?: string }) : null;
      setFault(data?.message ?? "No answer came.");
    } finally {
      setStarting(null);
    }
  }

  function runSeed() {
    const wanted = seed.trim() === "" ? Number.NaN : Number(seed);
    const wrong = checkUnits("seed", wanted, { maximum: SEED_MAX });
    if (wrong !== null) setSeedFault(`A whole number up to ${formatUnits(SEED_MAX)}.`);
    else void run("seed", { seed: wanted });
  }

  return (
    <Panel
      id="order"
      title="Nine deliveries of three events"
      about="A customer on Free, with 10 credits, buys Pro: a plan change and a payment. An old cancellation is still under way. The network delivers some of them again, and one worker dies."
    >
      <form
        noValidate
        className="flex flex-wrap items-start gap-3"
        onSubmit={(event) => {
          event.preventDefault();
          runSeed();
        }}
      >
        <Button
          look="primary"
          isBusy={starting === "order"}
          disabled={starting !== null}
          onClick={() => void run("order", {})}
        >
          {starting !== "order" && <ListOrdered aria-hidden className="size-4" />}
          Run the nine
        </Button>
        <Button
          isBusy={starting === "shuffle"}
          disabled={starting !== null}
          onClick={() => void run("shuffle", { seed: Math.floor(Math.random() * SHORT_SEEDS) })}
        >
          {starting !== "shuffle" && <Shuffle aria-hidden className="size-4" />}
          Shuffle
        </Button>
        <div className="flex items-start gap-2">
          <TextField
            label="Seed of the order"
            hideLabel
            type="number"
            inputMode="numeric"
            placeholder="Seed"
            className="w-36"
            value={seed}
            error={seedFault}
            onChange={(event) => setTyped(event.target.value)}
          />
          <Button type="submit" isBusy={starting === "seed"} disabled={starting !== null}>
            Run this seed
          </Button>
        </div>
      </form>
      <p className="text-sm text-muted">
        {props.shownSeed === null
          ? "Shuffled, the nine come in another order. The seed tells which: give it to somebody, and they see the same."
          : `Shown below: the order of seed ${props.shownSeed}. Whoever runs this seed sees the same order.`}
      </p>
      {fault !== null && (
        <Notice isNews tone="bad" title="The run was not started" next="Try again.">
          {fault}
        </Notice>
      )}
    </Panel>
  );
}
