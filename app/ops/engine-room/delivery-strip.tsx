"use client";

import { CreditCard, type LucideIcon, Rocket, ServerCrash, XCircle } from "lucide-react";
import { EVENT_NAMES, type Run, type Step } from "./words.ts";

const ICONS: Readonly<Record<Step["event"], LucideIcon>> = {
  payment: CreditCard,
  plan_changed: Rocket,
  cancellation: XCircle,
};

/** The deliveries in their order. Each can be gone to. On a phone only the one that is shown has its name. */
export function DeliveryStrip({ run, at, go }: { run: Run; at: number; go: (at: number) => void }) {
  const { script, steps } = run;
  const names = script.map(({ event, stops }, index) => {
    const before = script.slice(0, index).filter((one) => one.event === event).length;
    return {
      event: EVENT_NAMES[event],
      note: stops ? "the worker stops" : before === 0 ? "first time" : `copy ${before}`,
    };
  });
  const shown = names[at - 1];
  return (
    <div className="flex flex-col gap-2">
      <ol aria-label="Deliveries" className="grid grid-cols-9 gap-1 sm:gap-2">
        {script.map(({ event, stops }, index) => {
          const Icon = stops ? ServerCrash : ICONS[event];
          return (
            // A delivery is its number.
            // oxlint-disable-next-line react/no-array-index-key
            <li key={index} className="flex min-w-0">
              <button
                type="button"
                aria-current={index + 1 === at ? "step" : undefined}
                disabled={index >= steps.length}
                onClick={() => go(index + 1)}
                className={`flex w-full min-w-0 cursor-pointer flex-col gap-1 rounded-lg border px-1 py-2 text-left text-xs hover:border-edge disabled:cursor-default aria-[current=step]:border-accent aria-[current=step]:bg-accent-soft xl:px-2.5 ${index < at ? "border-line bg-card" : "border-dashed border-line bg-sunken"}`}
              >
                <span className="flex flex-col items-center justify-between gap-1 text-muted xl:flex-row">
                  <span className="tabular-nums">{index + 1}</span>
                  <Icon aria-hidden className={`size-4 ${stops ? "text-bad" : ""}`} />
                </span>
                <span className="sr-only font-medium xl:not-sr-only">{names[index]?.event}</span>
                <span className={`sr-only xl:not-sr-only ${stops ? "text-bad" : "text-muted"}`}>
                  {names[index]?.note}
                </span>
              </button>
            </li>
          );
        })}
      </ol>
      <p aria-hidden className="min-h-5 text-sm xl:hidden">
        {shown !== undefined && (
          <>
            <span className="font-medium">{shown.event}</span>, {shown.note}
          </>
        )}
      </p>
    </div>
  );
}
