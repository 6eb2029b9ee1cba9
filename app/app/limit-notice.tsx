"use client";

import { ButtonLink } from "../components/button.tsx";
import { formatInstant } from "../components/format.ts";
import { Notice } from "../components/notice.tsx";
import { limitWords, type Usage } from "./limit-words.ts";

/** At 80% and 100% of the limit. What is held comes back, so a limit full of holds is no reason to buy more. */
export function LimitNotice({ usage }: { usage: Usage }) {
  const words = limitWords(usage, formatInstant);
  if (words === null) return null;
  return (
    <Notice
      isNews
      tone={words.tone}
      title={words.title}
      next={
        <div className="flex flex-wrap items-center gap-3">
          <span>{words.next}</span>
          {words.offersPlans && (
            <ButtonLink href="/app/plan" size="sm">
              See the plans
            </ButtonLink>
          )}
        </div>
      }
    >
      {words.detail}
    </Notice>
  );
}
