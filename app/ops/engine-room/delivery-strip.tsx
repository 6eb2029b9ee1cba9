"use client";

import { CreditCard, type LucideIcon, Rocket, ServerCrash, XCircle } from "lucide-react";
import { EVENT_NAMES, type Run, type Step } from "./words.ts";

const ICONS: Readonly<Record<Step["event"], LucideIcon>> = {
  payment: CreditCard,
  plan_changed: Rocket,
  cancellation: XCircle,
};

/** The deliveries in their order. Each can be gone to. */
export function DeliveryStrip({ run, at, go }: { run: Run; at: number; go: (at: number) => void }) {
  const { script, steps } = run;
  return (
    <ol aria-label="Deliveries" className="grid grid-cols-3 gap-2 sm:grid-cols-5 xl:grid-cols-9">
      {script.map(({ event, stops }, index) => {
        const Icon = ICONS[event];
        const before = script.slice(0, index).filter((one) => one.event === event).length;
        return (
          // A delivery is its number.
          // oxlint-disable-next-line react/no-array-index-key
          <li key={index} className="flex">
            <button
              type="button"
              aria-current={index + 1 === at ? "step" : undefined}
              disabled={index >= steps.length}
              onClick={() => go(index + 1)}
              className={`flex w-full cursor-pointer flex-col gap-1 rounded-lg border px-2.5 py-2 text-left text-xs hover:border-edge disabled:cursor-default aria-[current=step]:border-accent aria-[current=step]:bg-accent-soft ${index < at ? "border-line bg-card" : "border-dashed border-line bg-sunken"}`}
            >
              <span className="flex items-center justify-between gap-2 text-muted">
                <span className="tabular-nums">{index + 1}</span>
                {stops ? (
                  <ServerCrash aria-hidden className="size-4 text-bad" />
                ) : (
                  <Icon aria-hidden className="size-4" />
                )}
              </span>
              <span className="font-medium">{EVENT_NAMES[event]}</span>
              <span className={stops ? "text-bad" : "text-muted"}>
                {stops ? "the worker stops" : before === 0 ? "first time" : `copy ${before}`}
              </span>
            </button>
          </li>
        );
      })}
    </ol>
  );
}
