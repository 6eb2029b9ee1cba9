import { CircleAlert, CircleCheck, Info, TriangleAlert } from "lucide-react";
import type { ReactNode } from "react";

const LOOKS = {
  info: { icon: Info, box: "border-line bg-card", mark: "text-accent" },
  good: { icon: CircleCheck, box: "border-good/30 bg-good-soft", mark: "text-good" },
  warn: { icon: TriangleAlert, box: "border-warn/30 bg-warn-soft", mark: "text-warn" },
  bad: { icon: CircleAlert, box: "border-bad/30 bg-bad-soft", mark: "text-bad" },
} as const;

/**
 * What happened (`title`), the numbers (`children`) and what to do next (`next`). `isNews` reads it out when it
 * appears; leave it out for what stands on the screen anyway.
 */
export function Notice(props: {
  tone: keyof typeof LOOKS;
  title: string;
  children?: ReactNode;
  next?: ReactNode;
  isNews?: boolean;
}) {
  const { icon: Icon, box, mark } = LOOKS[props.tone];
  return (
    <div
      role={props.isNews === true ? "status" : undefined}
      className={`flex gap-3 rounded-lg border p-4 text-sm ${box}`}
    >
      <Icon aria-hidden className={`mt-0.5 size-4 shrink-0 ${mark}`} />
      <div className="flex min-w-0 flex-col gap-1">
        <p className="font-semibold">{props.title}</p>
        {props.children !== undefined && <div>{props.children}</div>}
        {props.next !== undefined && <div className="text-ink/80">{props.next}</div>}
      </div>
    </div>
  );
}
