import type { Metadata } from "next";
import Link from "next/link";
import { linkClass } from "../../components/button.tsx";
import { Code, Commands, List, Part, Terms, Text } from "../text.tsx";
import { siteOrigin } from "../origin.ts";
import { DocsHead } from "./docs-head.tsx";

export const metadata: Metadata = { title: "Getting started" };

const SCREENS = [
  ["/app", "used, held and free of your limit, with each hold behind it"],
  ["/app/jobs", "start jobs, watch steps charge the hold, kill a worker, see why one is refused"],
  ["/app/links", "short links and QR codes; each click arrives as a row"],
  ["/app/entries", "the ledger: every row, and why it was billed or not"],
  ["/app/reminders", "messages to your later self, one credit each"],
  ["/app/plan", "plans, prices, and the change of a plan"],
  ["/app/events", "what the billing provider told about you, with Replay"],
  ["/app/keys", "API keys, shown once, rotated and revoked"],
  ["/app/account", "export of all your data, and deletion"],
  ["/ops", "for operators: labs, reconciliation, reviews, inbox, faults, audit"],
] as const;

export default async function GettingStartedPage() {
  const origin = await siteOrigin();
  return (
    <>
      <DocsHead title="Getting started">
        Holdfast keeps usage limits from being spent twice, meters from differing from what was used, and
        billing state right in every order of events.
      </DocsHead>
      <Part id="run" title="Run it">
        <Text>Node 20.20 or newer. Nothing to sign up for, and nothing is fetched while it runs.</Text>
        <Commands text={"npm ci\nnpm start"} />
        <Text>
          It starts the web server, a local engine that runs the Convex functions, and a stand-in for Kinde.
          Sign in with a name and an email; tick <Code>operator</Code> for the operators&apos; screens.
        </Text>
      </Part>
      <Part id="screens" title="Screens">
        <Terms
          terms={SCREENS.map(([href, about]) => [
            href,
            <a key={href} href={href} className={linkClass}>
              {about}
            </a>,
          ])}
        />
      </Part>
      <Part id="program" title="From a program">
        <Text>
          Make a key at <Code>/app/keys</Code>. A worker holds units, charges them step by step, and settles:
        </Text>
        <Commands
          text={`API=${origin}/api/v1; JSON='content-type: application/json'
curl -s $API/jobs -H "authorization: Bearer KEY" -H "$JSON" -d '{"key":"report-1","units":4000}'
curl -s $API/jobs/JOB_ID/charge -H "authorization: Bearer KEY" -H "$JSON" -d '{"step":1,"units":3100,"fence":FENCE}'
curl -s $API/jobs/JOB_ID/settle -H "authorization: Bearer KEY" -H "$JSON" -d '{"outcome":"completed"}'`}
        />
        <List>
          <li>
            <Code>key</Code> is yours and stays the same over your retries: the same key never starts a second
            job.
          </li>
          <li>
            <Code>fence</Code> comes with the job. It changes when another worker takes over, so an old worker
            cannot charge any more.
          </li>
          <li>
            A refusal is an answer with a <Code>code</Code> and the numbers behind it, all in{" "}
            <Link href="/docs/errors" prefetch={false} className={linkClass}>
              Errors
            </Link>
            .
          </li>
        </List>
      </Part>
      <Part id="prove" title="Prove it">
        <Terms
          terms={[
            ["npm run lab", "five jobs at the same moment, a plain check beside the hold"],
            [
              "npm run engine-room",
              "nine deliveries of three billing events, a naive handler beside the pipeline",
            ],
            [
              "node scripts/load.mjs",
              "real jobs or clicks against the running server, read back and compared",
            ],
            ["npm test", "every test that needs no browser"],
          ]}
        />
      </Part>
    </>
  );
}
