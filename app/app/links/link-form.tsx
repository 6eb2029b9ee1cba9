"use client";

import { useMutation } from "convex/react";
import { type FormEvent, useState } from "react";
import { api } from "../../../convex/_generated/api";
import type { LinkView } from "../../../convex/links.ts";
import { Button } from "../../components/button.tsx";
import { Dialog, DialogActions } from "../../components/dialog.tsx";
import { TextField } from "../../components/field.tsx";
import { toast } from "../../components/toast.tsx";

type Faults = Readonly<Record<string, string>>;

/** Makes a link, or changes one. What is wrong with a field is said below it. */
export function LinkForm({
  isOpen,
  onClose,
  link,
}: {
  isOpen: boolean;
  onClose: () => void;
  link: LinkView | null;
}) {
  return (
    <Dialog
      isOpen={isOpen}
      onClose={onClose}
      title={link === null ? "New link" : `Change /${link.code}`}
      description={
        link === null ? undefined : "The code stays. A redirect may answer as before for up to 5 seconds."
      }
    >
      <Form onClose={onClose} link={link} />
    </Dialog>
  );
}

function Form({ onClose, link }: { onClose: () => void; link: LinkView | null }) {
  const create = useMutation(api.links.create);
  const update = useMutation(api.links.update);
  const [isBusy, setIsBusy] = useState(false);
  const [faults, setFaults] = useState<Faults>({});

  async function send(form: FormData): Promise<Faults | null> {
    const text = (name: string) => (form.get(name) as string | null)?.trim() ?? "";
    const [cap, over] = [text("capUnits"), text("overCapTarget")];
    const fields = {
      target: text("target"),
      title: text("title"),
      capUnits: cap === "" ? null : Number(cap),
      overCapTarget: over === "" ? null : over,
    };
    const answer =
      link === null
        ? await create({ ...fields, ...(text("code") === "" ? {} : { code: text("code") }) })
        : await update({ linkId: link.id, ...fields });
    switch (answer.kind) {
      case "created":
        toast.done(`/${answer.link.code} is made`, answer.link.url);
        return null;
      case "updated":
        toast.done(`/${answer.link.code} is changed`);
        return null;
      case "code_taken":
        return { code: `The code ${answer.code} is taken. Codes are never given twice; choose another.` };
      case "invalid":
        return Object.fromEntries(answer.errors.map(({ path, message }) => [path, sentence(message)]));
      case "not_found":
        return { target: "This link has been deleted meanwhile." };
    }
  }

  async function onSubmit(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    setIsBusy(true);
    try {
      const found = await send(new FormData(event.currentTarget));
      if (found === null) onClose();
      else setFaults(found);
    } catch {
      setFaults({ target: "No answer came. Try again." });
    } finally {
      setIsBusy(false);
    }
  }

  return (
    <form className="flex flex-col gap-4" onSubmit={(event) => void onSubmit(event)} noValidate>
      <TextField
        label="Target"
        name="target"
        type="url"
        required
        placeholder="https://example.com/autumn-sale"
        hint="Any address outside this site."
        defaultValue={link?.target}
        error={faults["target"]}
      />
      <div className="grid gap-4 sm:grid-cols-2">
        {link === null && (
          <TextField
            label="Code"
            name="code"
            hint="Left empty: 7 random characters."
            autoComplete="off"
            error={faults["code"]}
          />
        )}
        <TextField
          label="Title"
          name="title"
          maxLength={200}
          hint="Only you see it."
          defaultValue={link?.title}
          error={faults["title"]}
        />
        <TextField
          label="Cap on billed clicks"
          name="capUnits"
          type="number"
          min={1}
          step={1}
          hint="Left empty: no cap. Clicks over it are not billed."
          defaultValue={link?.capUnits ?? ""}
          error={faults["capUnits"]}
        />
        <TextField
          label="Target over the cap"
          name="overCapTarget"
          type="url"
          hint="Left empty: the link then answers 410 (gone), within 5 seconds."
          defaultValue={link?.overCapTarget ?? ""}
          error={faults["overCapTarget"]}
        />
      </div>
      <DialogActions>
        <Button onClick={onClose}>{link === null ? "Close" : "Keep as it is"}</Button>
        <Button type="submit" look="primary" isBusy={isBusy}>
          {link === null ? "Make the link" : "Save"}
        </Button>
      </DialogActions>
    </form>
  );
}

const sentence = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
