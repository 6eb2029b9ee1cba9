"use client";

import { useNow } from "../../components/use-now.ts";
import { CopyButton } from "../../components/copy-button.tsx";
import { Panel } from "../../components/panel.tsx";

/** How a program uses a key. The origin is the browser's, so the call runs as it stands. */
export function FirstCall() {
  const hasMounted = useNow() !== null;
  const origin = hasMounted ? location.origin : "";
  const call = `curl -s ${origin}/api/v1/jobs \\
  -H "Authorization: Bearer KEY" \\
  -H "Content-Type: application/json" \\
  -d '{"key": "report-1", "units": 1000}'`;
  return (
    <Panel
      id="first-call"
      title="A first call"
      about="Starts a job that holds 1,000 tokens. Sent again with the same key it starts no second one."
      aside={<CopyButton text={call} label="Copy" />}
    >
      <pre className="rounded-md bg-sunken p-4 font-mono text-xs leading-relaxed break-words whitespace-pre-wrap">
        {call}
      </pre>
      <p className="text-sm text-muted">
        Every route is in{" "}
        <a href="/api/v1/openapi.json" className="text-accent underline underline-offset-4">
          /api/v1/openapi.json
        </a>{" "}
        (OpenAPI 3.1).
      </p>
    </Panel>
  );
}
