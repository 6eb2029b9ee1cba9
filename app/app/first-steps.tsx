"use client";

import { useQuery } from "convex/react";
import { ArrowRight, CircleCheck } from "lucide-react";
import Link from "next/link";
import { api } from "../../convex/_generated/api";
import { Panel } from "../components/panel.tsx";

/** What to try first, until all of it was tried. */
export function FirstSteps() {
  const jobs = useQuery(api.gate.listJobs, { cursor: null, limit: 1 });
  const links = useQuery(api.links.list, { cursor: null, limit: 1 });
  const keys = useQuery(api.apiKeys.listOwn, {});
  if (jobs === undefined || links === undefined || keys === undefined) return null;
  const steps = [
    {
      href: "/app/jobs",
      isDone: jobs.jobs.length > 0,
      title: "Start five jobs at once",
      text: "See which get a hold, which are refused, and why.",
    },
    {
      href: "/app/links",
      isDone: links.links.length > 0,
      title: "Make a short link and click it",
      text: "Each click is one row, with the reason why it was billed or was not.",
    },
    {
      href: "/app/keys",
      isDone: keys.apiKeys.length > 0,
      title: "Make an API key",
      text: "For your own worker: hold, charge, settle over HTTP.",
    },
  ];
  if (steps.every(({ isDone }) => isDone)) return null;
  return (
    <Panel id="first-steps" title="First steps">
      <ul className="grid gap-3 md:grid-cols-3">
        {steps.map(({ href, isDone, title, text }) => (
          <li key={href}>
            <Link
              href={href}
              prefetch={false}
              className="flex h-full items-start justify-between gap-3 rounded-lg border border-line p-4 text-sm hover:border-edge hover:bg-sunken"
            >
              <span className="flex flex-col gap-1">
                <span className="font-medium">
                  {title}
                  {isDone && <span className="sr-only"> (done)</span>}
                </span>
                <span className="text-muted">{text}</span>
              </span>
              {isDone ? (
                <CircleCheck aria-hidden className="size-4 shrink-0 text-good" />
              ) : (
                <ArrowRight aria-hidden className="size-4 shrink-0 text-muted" />
              )}
            </Link>
          </li>
        ))}
      </ul>
    </Panel>
  );
}
