"use client";

import { Toast } from "@base-ui/react/toast";
import { X } from "lucide-react";
import type { ReactNode } from "react";
import { buttonClass } from "./button.tsx";

const manager = Toast.createToastManager();
const BAD = "bad";

/** Says in a corner what was done, or what was not. It is read out, and goes by itself. */
export const toast = {
  done: (title: string, description?: string) => void manager.add({ title, description }),
  failed: (title: string, description?: string) =>
    void manager.add({ title, description, type: BAD, priority: "high", timeout: 10_000 }),
};

export function Toasts({ children }: { children: ReactNode }) {
  return (
    <Toast.Provider toastManager={manager} limit={3}>
      {children}
      <Toast.Portal>
        <Toast.Viewport className="fixed right-4 bottom-4 z-60 flex w-[calc(100vw-2rem)] flex-col gap-2 sm:w-90">
          <ToastList />
        </Toast.Viewport>
      </Toast.Portal>
    </Toast.Provider>
  );
}

function ToastList() {
  const { toasts } = Toast.useToastManager();
  return toasts.map((shown) => (
    <Toast.Root
      key={shown.id}
      toast={shown}
      swipeDirection={["right", "down"]}
      className={`rounded-lg border bg-card text-ink shadow-lg transition-[translate,opacity] duration-200 data-ending-style:translate-y-2 data-ending-style:opacity-0 data-limited:hidden data-starting-style:translate-y-2 data-starting-style:opacity-0 ${shown.type === BAD ? "border-bad" : "border-line"}`}
    >
      <Toast.Content className="flex items-start gap-3 p-3">
        <div className="flex min-w-0 flex-1 flex-col gap-0.5 py-1 text-sm">
          <Toast.Title className={`font-medium ${shown.type === BAD ? "text-bad" : ""}`} />
          <Toast.Description className="text-muted" />
        </div>
        <Toast.Close aria-label="Close the message" className={buttonClass("ghost", "sm")}>
          <X aria-hidden className="size-4" />
        </Toast.Close>
      </Toast.Content>
    </Toast.Root>
  ));
}
