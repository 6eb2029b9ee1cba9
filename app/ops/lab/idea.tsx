import { Panel } from "../../components/panel.tsx";
import { SIDE_ABOUT } from "./lab-side.tsx";
import { SIDE_NAMES } from "./lab-words.ts";

const STEPS = {
  plain: ["Read how much is used", "Run the job", "Count what it used"],
  held: [
    "Check and set aside, in one step",
    "Run from what is set aside",
    "Book what was used, give back the rest",
  ],
} as const;

/** Before the first run: what the two sides do. */
export function Idea() {
  return (
    <div className="grid items-start gap-6 lg:grid-cols-2">
      {(["plain", "held"] as const).map((side) => (
        <Panel key={side} id={side} title={SIDE_NAMES[side]} about={SIDE_ABOUT[side]}>
          <ol className="flex flex-col gap-2 text-sm">
            {STEPS[side].map((step, index) => (
              <li key={step} className="flex items-center gap-3">
                <span className="flex size-6 shrink-0 items-center justify-center rounded-full bg-sunken text-xs font-medium tabular-nums">
                  {index + 1}
                </span>
                {step}
              </li>
            ))}
          </ol>
        </Panel>
      ))}
    </div>
  );
}
