"use client";

import { AlertDialog } from "@base-ui/react/alert-dialog";
import { Dialog as Base } from "@base-ui/react/dialog";
import { X } from "lucide-react";
import { type ReactNode, useState } from "react";
import { Button, buttonClass } from "./button.tsx";

const BACKDROP =
  "fixed inset-0 z-40 bg-black/45 transition-opacity duration-150 data-ending-style:opacity-0 data-starting-style:opacity-0";
const POPUP =
  "fixed top-1/2 left-1/2 z-50 flex max-h-[calc(100dvh-2rem)] w-[calc(100vw-2rem)] -translate-x-1/2 -translate-y-1/2 flex-col gap-4 overflow-y-auto rounded-xl border border-line bg-card p-5 text-ink shadow-2xl transition-[scale,opacity] duration-150 data-ending-style:scale-98 data-ending-style:opacity-0 data-starting-style:scale-98 data-starting-style:opacity-0 sm:p-6";

/** A window over the screen. The focus stays in it, Escape closes it, and the focus returns to where it was. */
export function Dialog(props: {
  isOpen: boolean;
  onClose: () => void;
  title: string;
  description?: ReactNode;
  isWide?: boolean;
  children: ReactNode;
}) {
  return (
    <Base.Root open={props.isOpen} onOpenChange={(isOpen) => !isOpen && props.onClose()}>
      <Base.Portal>
        <Base.Backdrop className={BACKDROP} />
        <Base.Popup className={`${POPUP} ${props.isWide === true ? "sm:max-w-2xl" : "sm:max-w-lg"}`}>
          <div className="flex items-start justify-between gap-4">
            <div className="flex min-w-0 flex-col gap-1">
              <Base.Title className="text-lg font-semibold">{props.title}</Base.Title>
              {props.description !== undefined && (
                <Base.Description render={<div />} className="text-sm text-muted">
                  {props.description}
                </Base.Description>
              )}
            </div>
            <Base.Close aria-label="Close" className={`${buttonClass("ghost", "sm")} -mt-1 -mr-2`}>
              <X aria-hidden className="size-4" />
            </Base.Close>
          </div>
          {props.children}
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  );
}

/** The row of buttons at the end of a dialog. */
export function DialogActions({ children }: { children: ReactNode }) {
  return <div className="flex flex-wrap justify-end gap-2 pt-1">{children}</div>;
}

/**
 * Asks before an act that cannot be undone. It stays open while the act is on its way, and when `act` throws: then no
 * answer came. An answer, also one that refuses, closes it; `act` tells the reader which it was.
 */
export function ConfirmDialog(props: {
  isOpen: boolean;
  onClose: () => void;
  title: string;
  /** What will happen, and to what. */
  children: ReactNode;
  /** What has to be given first, such as a text to type; `isReady` says whether it was. */
  fields?: ReactNode;
  isReady?: boolean;
  confirm: string;
  /** What not doing it is called. */
  cancel?: string;
  look?: "danger" | "primary";
  act: () => Promise<void>;
}) {
  const { isOpen, onClose, act } = props;
  const [isBusy, setIsBusy] = useState(false);
  const [fault, setFault] = useState<string | null>(null);

  async function onConfirm() {
    setIsBusy(true);
    setFault(null);
    try {
      await act();
      onClose();
    } catch {
      setFault("It was not done: no answer came. Try again.");
    } finally {
      setIsBusy(false);
    }
  }

  return (
    <AlertDialog.Root open={isOpen} onOpenChange={(next) => !next && !isBusy && onClose()}>
      <AlertDialog.Portal>
        <AlertDialog.Backdrop className={BACKDROP} />
        <AlertDialog.Popup className={`${POPUP} sm:max-w-md`}>
          <AlertDialog.Title className="text-lg font-semibold">{props.title}</AlertDialog.Title>
          <AlertDialog.Description render={<div />} className="flex flex-col gap-2 text-sm text-muted">
            {props.children}
          </AlertDialog.Description>
          {props.fields}
          <p role="alert" className="text-sm text-bad empty:hidden">
            {fault}
          </p>
          <DialogActions>
            <AlertDialog.Close disabled={isBusy} className={buttonClass("secondary")}>
              {props.cancel ?? "Keep it"}
            </AlertDialog.Close>
            <Button
              look={props.look ?? "danger"}
              isBusy={isBusy}
              disabled={props.isReady === false}
              onClick={() => void onConfirm()}
            >
              {props.confirm}
            </Button>
          </DialogActions>
        </AlertDialog.Popup>
      </AlertDialog.Portal>
    </AlertDialog.Root>
  );
}
