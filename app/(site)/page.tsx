import { cookies } from "next/headers";
import { currentHealth } from "../../lib/server/health-response.ts";
import { buttonClass, ButtonLink } from "../components/button.tsx";
import { DELETED_COOKIE } from "../components/deleted-cookie.ts";
import { Notice } from "../components/notice.tsx";
import { FirstCall } from "./first-call.tsx";
import { FirstMinute } from "./first-minute.tsx";
import { siteOrigin } from "./origin.ts";
import { PartState } from "./part-state.tsx";
import { Promises } from "./promises.tsx";

// The state on this page is asked for at each request.
export const dynamic = "force-dynamic";

const HEADLINES = {
  ok: { text: "Everything runs", tone: "text-good" },
  degraded: { text: "It runs, and a background part is late or fails", tone: "text-warn" },
  down: { text: "The database does not answer", tone: "text-bad" },
} as const;

export default async function StartPage() {
  const [report, origin, kept] = await Promise.all([currentHealth(), siteOrigin(), cookies()]);
  const { convex, sweeper, audit } = report.parts;
  const headline = HEADLINES[report.status];
  return (
    <main id="main" className="mx-auto flex max-w-6xl flex-col gap-16 px-4 py-12 sm:px-8 sm:py-20">
      {kept.has(DELETED_COOKIE) && (
        <Notice
          isNews
          tone="good"
          title="Your account is deleted"
          next="To come back you need a new sign-in, with another email address."
        >
          Its keys, links and reminders have ended, and your name and email address are erased from it. The
          ledger stays for the books. You are signed out.
        </Notice>
      )}
      <header className="flex flex-col items-start gap-6">
        <h1 className="max-w-3xl text-4xl font-semibold tracking-tight text-balance sm:text-5xl">
          Limits that hold. Meters that match. Billing that stays right.
        </h1>
        <p className="max-w-2xl text-lg text-pretty text-muted">
          Start five jobs at the same moment and all five pass a plain check. Send a report twice and somebody
          pays twice. Let billing events come out of order and a paying customer is on Free. Holdfast is built
          so that none of the three can happen, and shows you that it does not.
        </p>
        <div className="flex flex-wrap gap-3">
          <a href="/app" className={buttonClass("primary")}>
            Open your account
          </a>
          <ButtonLink href="/docs">Read the docs</ButtonLink>
        </div>
      </header>

      <Promises />
      <FirstMinute />
      <FirstCall origin={origin} />

      <section aria-labelledby="state" className="flex flex-col gap-4">
        <h2 id="state" className="text-xl font-semibold tracking-tight">
          This server: <span className={headline.tone}>{headline.text}</span>
        </h2>
        <ul className="grid gap-3 sm:grid-cols-2 lg:grid-cols-4">
          <PartState name="Web server" status="ok" detail="Answered this page" />
          <PartState
            name="Database"
            status={convex.status}
            detail={convex.latencyMs === null ? (convex.reason ?? "") : `Answered in ${convex.latencyMs} ms`}
          />
          <PartState name="Sweeper" status={sweeper.status} detail={lastRun(sweeper)} />
          <PartState name="Audit" status={audit.status} detail={lastRun(audit)} />
        </ul>
      </section>
    </main>
  );
}

type Run = { status: string; ageMs?: number | null };

function lastRun({ status, ageMs }: Run): string {
  if (status === "unknown") return "Known once the database answers";
  if (ageMs === null || ageMs === undefined) return "Has not finished a run yet";
  const seconds = Math.round(ageMs / 1000);
  return seconds < 120
    ? `Last good run ${seconds} s ago`
    : `Last good run ${Math.round(seconds / 60)} min ago`;
}
