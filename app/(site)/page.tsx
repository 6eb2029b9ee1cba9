import { headers } from "next/headers";
import { currentHealth } from "../../lib/server/health-response.ts";
import { FirstCall } from "./first-call.tsx";
import { PartState } from "./part-state.tsx";

// The state on this page is asked for at each request.
export const dynamic = "force-dynamic";

const HEADLINES = {
  ok: { text: "Everything runs", tone: "text-good" },
  degraded: { text: "It runs, and a background part is late", tone: "text-warn" },
  down: { text: "The database does not answer", tone: "text-bad" },
} as const;

const PROMISES = [
  {
    title: "Hold first",
    text: "A job holds part of the limit before it starts. What is held by one job cannot be started by another, however many ask at once.",
  },
  {
    title: "Capped by the hold",
    text: "Each step is charged to the hold and never past it. A job that may need more asks for more, and gets it only when there is room.",
  },
  {
    title: "Pay what was used",
    text: "At the end the rest returns. When a worker dies, its lease runs out and the hold comes back by itself.",
  },
] as const;

export default async function StartPage() {
  const [report, requestHeaders] = await Promise.all([currentHealth(), headers()]);
  const { convex, sweeper, audit } = report.parts;
  const headline = HEADLINES[report.status];
  return (
    <main id="main" className="mx-auto flex max-w-4xl flex-col gap-12 px-5 py-12 sm:py-20">
      <header className="flex flex-col gap-4">
        <p className="font-mono text-sm text-accent">Holdfast</p>
        <h1 className="text-3xl font-semibold tracking-tight text-balance sm:text-5xl">
          Usage limits that hold, also when everything starts at once
        </h1>
        <p className="max-w-2xl text-lg text-pretty text-muted">
          This server admits jobs against a usage limit, holds the units they may need, charges what they use
          and gives back the rest.
        </p>
      </header>

      <section aria-labelledby="state" className="flex flex-col gap-4">
        <h2 id="state" className="text-xl font-semibold">
          State: <span className={headline.tone}>{headline.text}</span>
        </h2>
        <ul className="grid gap-3 sm:grid-cols-2">
          <PartState name="Web server" status="ok" detail="Answered this page" />
          <PartState
            name="Database"
            status={convex.status}
            detail={convex.latencyMs === null ? (convex.reason ?? "") : `Answered in ${convex.latencyMs} ms`}
          />
          <PartState name="Sweeper" status={sweeper.status} detail={lastRun(sweeper)} />
          <PartState name="Audit" status={audit.status} detail={lastRun(audit)} />
        </ul>
        <p className="text-sm text-muted">
          As JSON:{" "}
          <a href="/api/health" className="text-accent underline underline-offset-4">
            /api/health
          </a>
          . Reload for the state of the moment.
        </p>
      </section>

      <section aria-labelledby="how" className="flex flex-col gap-4">
        <h2 id="how" className="text-xl font-semibold">
          How it works
        </h2>
        <ol className="grid gap-3 sm:grid-cols-3">
          {PROMISES.map(({ title, text }) => (
            <li key={title} className="flex flex-col gap-2 rounded-lg border border-line bg-card p-4">
              <h3 className="font-medium">{title}</h3>
              <p className="text-sm text-muted">{text}</p>
            </li>
          ))}
        </ol>
      </section>

      <FirstCall origin={originOf(requestHeaders)} />
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

/** Where the reader reached this page, for the example call; checked, because a client writes the Host header. */
function originOf(requestHeaders: Headers): string {
  const host = requestHeaders.get("host") ?? "";
  const isSecure = requestHeaders.get("x-forwarded-proto") === "https";
  return /^[\w.-]+(?::\d{1,5})?$|^\[[\da-f:]+\](?::\d{1,5})?$/i.test(host)
    ? `${isSecure ? "https" : "http"}://${host}`
    : "http://localhost:3000";
}
