"use client";

import { useMutation } from "convex/react";
import { type FormEvent, useState } from "react";
import { api } from "../../../convex/_generated/api";
import { makeApiKey } from "../../components/api-key.ts";
import { Button } from "../../components/button.tsx";
import { Dialog, DialogActions } from "../../components/dialog.tsx";
import { CheckField, TextField } from "../../components/field.tsx";
import { SCOPES } from "./scopes.ts";
import type { MadeKey } from "./secret-dialog.tsx";

export function NewKeyDialog(props: {
  isOpen: boolean;
  onClose: () => void;
  onMade: (made: MadeKey) => void;
}) {
  return (
    <Dialog
      isOpen={props.isOpen}
      onClose={props.onClose}
      title="New key"
      description="It is made in this browser; only its hash leaves it."
    >
      <Form {...props} />
    </Dialog>
  );
}

function Form({ onClose, onMade }: { onClose: () => void; onMade: (made: MadeKey) => void }) {
  const create = useMutation(api.apiKeys.createOwn);
  const [isBusy, setIsBusy] = useState(false);
  const [fault, setFault] = useState<string | null>(null);

  async function onSubmit(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const name = (form.get("name") as string).trim();
    const scopes = SCOPES.map(({ scope }) => scope).filter((scope) => form.has(scope));
    if (scopes.length === 0) {
      setFault("Choose at least one thing that it may do.");
      return;
    }
    setIsBusy(true);
    try {
      const { secret, keyHash, prefix } = await makeApiKey();
      await create({ keyHashNew: keyHash, prefix, name, scopes });
      onClose();
      onMade({ name, secret, isRotated: false });
    } catch {
      setFault("The key was not made. An account has at most 50 live keys: revoke one, or try again.");
    } finally {
      setIsBusy(false);
    }
  }

  return (
    <form className="flex flex-col gap-4" onSubmit={(event) => void onSubmit(event)}>
      <TextField
        label="Name"
        name="name"
        required
        maxLength={200}
        placeholder="production worker"
        autoComplete="off"
      />
      <fieldset className="flex flex-col gap-2">
        <legend className="mb-2 text-sm font-medium">It may</legend>
        {SCOPES.map(({ scope, about }) => (
          <CheckField
            key={scope}
            name={scope}
            defaultChecked
            label={
              <span>
                {about} <code className="font-mono text-xs text-muted">{scope}</code>
              </span>
            }
          />
        ))}
      </fieldset>
      <p role="alert" className="text-sm text-bad empty:hidden">
        {fault}
      </p>
      <DialogActions>
        <Button onClick={onClose}>Close</Button>
        <Button type="submit" look="primary" isBusy={isBusy}>
          Make the key
        </Button>
      </DialogActions>
    </form>
  );
}
