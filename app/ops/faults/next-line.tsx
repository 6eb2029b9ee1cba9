import Link from "next/link";
import { Fragment } from "react";
import { linkClass } from "../../components/button.tsx";
import { NEXT_STEPS } from "./next-steps.ts";

/** What to do next to see what becomes of a fault; nothing for one that was set past the screen. */
export function NextLine({ offerId }: { offerId: string | undefined }) {
  const step = offerId === undefined ? undefined : NEXT_STEPS[offerId];
  if (step === undefined) return null;
  return (
    <p className="mt-1 text-sm text-pretty">
      <span className="font-medium">Next:</span> {step.text}{" "}
      {step.links.map(({ href, name }, index) => (
        <Fragment key={href}>
          {index > 0 && " · "}
          <Link href={href} prefetch={false} className={`${linkClass} whitespace-nowrap`}>
            {name}
          </Link>
        </Fragment>
      ))}
    </p>
  );
}
