"use client";

import { useMutation, useQuery } from "convex/react";
import { type FormEvent, useState } from "react";
import { api } from "../../../convex/_generated/api";
import { OVERDUE_BLOCK_DAYS_MAX } from "../../../lib/gate/overdue.ts";
import { Button } from "../../components/button.tsx";
import { ConfirmDialog } from "../../components/dialog.tsx";
import { CheckField, TextField } from "../../components/field.tsx";
import { Panel } from "../../components/panel.tsx";
import { Loading } from "../../components/states.tsx";
import { toast } from "../../components/toast.tsx";

const DAYS_OFFERED = 14;

/** Whether customers who owe may start new jobs. */
export function OverduePanel() {
  const settings = useQuery(api.settings.get, {});
  return (
    <Panel
      id="overdue"
      title="Overdue invoices"
      about="A customer whose invoice is overdue always sees a banner. New jobs can be refused as well, once it has been overdue for some days; jobs that run go on."
    >
      {settings === undefined ? (
        <Loading what="the setting" rows={2} />
      ) : (
        <OverdueForm key={String(settings.overdueBlockDays)} days={settings.overdueBlockDays} />
      )}
    </Panel>
  );
}

function OverdueForm({ days }: { days: number | null }) {
  const setDays = useMutation(api.settings.setOverdueBlockDays);
  const [blocks, setBlocks] = useState(days !== null);
  const [text, setText] = useState(String(days ?? DAYS_OFFERED));
  const [isAsking, setIsAsking] = useState(false);
  const number = Number(text);
  const isFit =
    Number.isInteger(number) && number >= 0 && number <= OVERDUE_BLOCK_DAYS_MAX && text.trim() !== "";
  const next = blocks ? number : null;
  const isSame = next === days;

  function onSubmit(event: FormEvent) {
    event.preventDefault();
    if (!isSame && (isFit || !blocks)) setIsAsking(true);
  }

  return (
    <form onSubmit={onSubmit} className="flex flex-col items-start gap-4">
      <CheckField
        label="Refuse new jobs of customers who owe"
        checked={blocks}
        onChange={(event) => setBlocks(event.target.checked)}
      />
      {blocks && (
        <TextField
          label="Days overdue before that"
          type="number"
          min={0}
          max={OVERDUE_BLOCK_DAYS_MAX}
          step={1}
          value={text}
          onChange={(event) => setText(event.target.value)}
          error={isFit ? undefined : `A whole number from 0 to ${OVERDUE_BLOCK_DAYS_MAX}.`}
          className="w-56"
        />
      )}
      <Button type="submit" look="primary" disabled={isSame || (blocks && !isFit)}>
        Save
      </Button>
      <ConfirmDialog
        isOpen={isAsking}
        onClose={() => setIsAsking(false)}
        title={next === null ? "Let customers who owe start jobs?" : "Refuse jobs of customers who owe?"}
        confirm="Save for everybody"
        cancel="Leave it"
        look="primary"
        act={async () => {
          await setDays({ days: next });
          toast.done("Saved", "It counts from the next job on, and is in the audit.");
        }}
      >
        <p>
          {next === null
            ? "Nobody is refused for an overdue invoice any more."
            : `Customers whose invoice is overdue for ${next} ${next === 1 ? "day" : "days"} or more get no new job, from now on, until they have paid.`}
        </p>
      </ConfirmDialog>
    </form>
  );
}
