"use client";

import { useConvex } from "convex/react";
import { Download } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { api } from "../../../convex/_generated/api";
import { Button, ButtonLink } from "../../components/button.tsx";
import { formatUnits } from "../../components/format.ts";
import { MeterBar } from "../../components/meter-bar.tsx";
import { Notice } from "../../components/notice.tsx";
import { Panel } from "../../components/panel.tsx";
import { exportParts } from "./export-parts.ts";
import { type ExportProgress, exportText, gatherExport } from "./gather-export.ts";

/** Rows of one part. With 50,000 of them in each the file is some hundred megabytes, which a browser still bears. */
const ROWS_MAX = 50_000;

type State =
  | { readonly kind: "idle" | "failed" | "given_up" }
  | { readonly kind: "running"; readonly progress: ExportProgress | null }
  | {
      readonly kind: "done";
      readonly rows: number;
      readonly cut: readonly string[];
      readonly fileName: string;
    };

/** One JSON file, put together in this browser: nothing of it is stored anywhere else. */
export function ExportData() {
  const client = useConvex();
  const [state, setState] = useState<State>({ kind: "idle" });
  const running = useRef<AbortController | null>(null);
  useEffect(() => () => running.current?.abort(), []);

  async function run(controller: AbortController): Promise<void> {
    const startedAt = new Date().toISOString();
    const { obstacles: _obstacles, ...account } = await client.query(api.accountDeletion.standing, {});
    const parts = await gatherExport(exportParts(client), {
      rowsMax: ROWS_MAX,
      signal: controller.signal,
      onProgress: (progress) => setState({ kind: "running", progress }),
    });
    const finishedAt = new Date().toISOString();
    const fileName = `holdfast-export-${finishedAt.slice(0, 10)}.json`;
    save(exportText(parts, { account, startedAt, finishedAt }), fileName);
    const cut = parts.filter(({ isCut }) => isCut).map(({ name }) => name);
    const rows = parts.reduce((sum, part) => sum + part.rows.length, 0);
    setState({ kind: "done", rows, cut, fileName });
  }

  async function onExport() {
    const controller = new AbortController();
    running.current = controller;
    setState({ kind: "running", progress: null });
    try {
      await run(controller);
    } catch {
      setState({ kind: controller.signal.aborted ? "given_up" : "failed" });
    }
  }

  const isRunning = state.kind === "running";
  return (
    <Panel
      id="export"
      title="Export"
      about="Everything the account has, in one JSON file."
      aside={
        isRunning ? (
          <Button onClick={() => running.current?.abort()}>Stop</Button>
        ) : (
          <Button onClick={() => void onExport()}>
            <Download aria-hidden className="size-4" />
            Export my data
          </Button>
        )
      }
    >
      {isRunning && <Progress progress={state.progress} />}
      <div role="status" className="empty:hidden">
        <Outcome state={state} />
      </div>
      <p className="text-sm text-muted">
        It has your account, usage, jobs, refusals, entries, clicks, links, reminders, credits, billing events
        and keys without their secrets, which are not stored. Your browser gathers it page by page, the newest
        first, at most {formatUnits(ROWS_MAX)} rows of each kind; the first lines of the file say whether that
        was all. What is written meanwhile may be missing.
      </p>
    </Panel>
  );
}

function Progress({ progress }: { progress: ExportProgress | null }) {
  const { part = "your account", partsDone = 0, parts = 1, rows = 0 } = progress ?? {};
  return (
    <div className="flex flex-col gap-2">
      <MeterBar
        isSmall
        label={`${partsDone} of ${parts} parts read`}
        whole={parts}
        parts={[{ name: "read", units: partsDone, look: "used" }]}
      />
      <p className="text-sm text-muted tabular-nums">
        Reading {part} ({partsDone + 1} of {parts}); {formatUnits(rows)} rows so far
      </p>
    </div>
  );
}

function Outcome({ state }: { state: State }) {
  switch (state.kind) {
    case "idle":
    case "running":
      return null;
    case "failed":
      return (
        <Notice tone="bad" title="The export stopped" next="Try again; it starts anew.">
          A part of it could not be read, so no file was made.
        </Notice>
      );
    case "given_up":
      return <Notice tone="info" title="Stopped: no file was made" />;
    case "done":
      return state.cut.length === 0 ? (
        <Notice tone="good" title={`Saved: ${state.fileName}`}>
          {formatUnits(state.rows)} rows, everything there is.
        </Notice>
      ) : (
        <Notice
          tone="warn"
          title={`Saved, without the oldest rows: ${state.fileName}`}
          next={
            <div className="flex flex-col items-start gap-2">
              <span>The entries screen exports whole cycles, one at a time.</span>
              <ButtonLink href="/app/entries" size="sm">
                Entries
              </ButtonLink>
            </div>
          }
        >
          Of {state.cut.join(", ")} the newest {formatUnits(ROWS_MAX)} rows are in the file.
        </Notice>
      );
  }
}

function save(pieces: string[], fileName: string): void {
  const url = URL.createObjectURL(new Blob(pieces, { type: "application/json" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = fileName;
  link.click();
  URL.revokeObjectURL(url);
}
