"use client";

import { Button } from "../../components/button.tsx";
import { CopyButton } from "../../components/copy-button.tsx";
import { Dialog, DialogActions } from "../../components/dialog.tsx";
import { Notice } from "../../components/notice.tsx";
import { useKept } from "../../components/use-kept.ts";

export interface MadeKey {
  readonly name: string;
  readonly secret: string;
  readonly isRotated: boolean;
}

/** The only time that a key is shown. */
export function SecretDialog({ made, onClose }: { made: MadeKey | null; onClose: () => void }) {
  const shown = useKept(made ?? undefined);
  return (
    <Dialog
      isOpen={made !== null}
      onClose={onClose}
      title={shown?.isRotated === true ? `New secret of ${shown.name}` : `Key ${shown?.name ?? ""}`}
    >
      <Notice tone="warn" title="Copy it now">
        It is stored as a hash and cannot be shown again.
      </Notice>
      {/* Gone with the dialog, not only hidden. */}
      <code className="rounded-md bg-sunken p-3 font-mono text-sm break-all select-all">{made?.secret}</code>
      <DialogActions>
        <CopyButton text={made?.secret ?? ""} label="Copy the key" />
        <Button look="primary" size="sm" onClick={onClose}>
          I have it
        </Button>
      </DialogActions>
    </Dialog>
  );
}
