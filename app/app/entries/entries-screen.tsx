"use client";

import { useQuery } from "convex/react";
import { Download } from "lucide-react";
import { useState } from "react";
import { api } from "../../../convex/_generated/api";
import { buttonClass } from "../../components/button.tsx";
import { CheckField, SelectField } from "../../components/field.tsx";
import { ListControls, SearchField } from "../../components/list-controls.tsx";
import { Panel, ScreenHead } from "../../components/panel.tsx";
import { type EntryFilter, EntryList } from "./entry-list.tsx";

const CYCLES_OFFERED = 12;

/** The ledger of the account: what was billed, what was not, and why. */
export function EntriesScreen() {
  const current = useQuery(api.gate.usage, {})?.cycle.name;
  const [cycle, setCycle] = useState("");
  const [feature, setFeature] = useState<"" | "tokens" | "clicks">("");
  const [all, setAll] = useState(false);
  const [text, setText] = useState("");
  const filter: EntryFilter = {
    all,
    ...(cycle === "" ? {} : { cycle }),
    ...(feature === "" ? {} : { feature }),
    ...(text === "" ? {} : { text }),
  };
  const exported = new URLSearchParams({ all: String(all), ...(cycle === "" ? {} : { cycle }) });
  if (feature !== "") exported.set("feature", feature);
  return (
    <>
      <ScreenHead title="Entries">
        One row for each settled job and each click. Rows never change; a correction is a row of its own. The
        meter at the billing provider is their sum.
      </ScreenHead>
      <Panel
        id="entries"
        title="Ledger"
        aside={
          <div className="flex flex-wrap gap-2">
            {(["csv", "ndjson"] as const).map((format) => (
              <a
                key={format}
                download
                href={`/api/v1/usage/entries?${exported.toString()}&format=${format}`}
                className={buttonClass("secondary", "sm")}
                title="The whole cycle with the features chosen below, in time order"
              >
                <Download aria-hidden className="size-4" />
                <span className="sr-only">Export </span>
                {format.toUpperCase()}
              </a>
            ))}
          </div>
        }
      >
        <ListControls>
          <SearchField
            label="Search entries"
            placeholder="Code of a link, key of a job…"
            onSearch={setText}
          />
          <SelectField
            label="Cycle"
            hideLabel
            className="sm:w-40"
            value={cycle}
            onChange={(event) => setCycle(event.target.value)}
          >
            <option value="">This cycle</option>
            {current !== undefined &&
              cyclesBefore(current).map((name) => (
                <option key={name} value={name}>
                  Cycle {name}
                </option>
              ))}
          </SelectField>
          <SelectField
            label="Feature"
            hideLabel
            className="sm:w-40"
            value={feature}
            onChange={(event) => setFeature(event.target.value as typeof feature)}
          >
            <option value="">Jobs and clicks</option>
            <option value="tokens">Jobs (tokens)</option>
            <option value="clicks">Clicks</option>
          </SelectField>
          <div className="flex h-9 items-center">
            <CheckField
              label="Also what was not billed"
              checked={all}
              onChange={(event) => setAll(event.target.checked)}
            />
          </div>
        </ListControls>
        <EntryList filter={filter} />
      </Panel>
    </>
  );
}

/** The names of the cycles before one, the newest first: a cycle has the name of the month it starts in. */
function cyclesBefore(name: string): string[] {
  const [year = 0, month = 1] = name.split("-").map(Number);
  return Array.from({ length: CYCLES_OFFERED - 1 }, (_, back) =>
    new Date(Date.UTC(year, month - 2 - back)).toISOString().slice(0, 7),
  );
}
