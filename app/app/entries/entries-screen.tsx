"use client";

import { useQuery } from "convex/react";
import { Download } from "lucide-react";
import { useState } from "react";
import { api } from "../../../convex/_generated/api";
import { buttonClass } from "../../components/button.tsx";
import { CheckField } from "../../components/field.tsx";
import { FilterField, ListControls, type Option, SearchField } from "../../components/list-controls.tsx";
import { Panel, ScreenHead } from "../../components/panel.tsx";
import { type EntryFilter, EntryList } from "./entry-list.tsx";
import { useUsage } from "../use-usage.ts";

const CYCLES_OFFERED = 12;
const FEATURES = [
  ["", "Jobs and clicks"],
  ["tokens", "Jobs (tokens)"],
  ["clicks", "Clicks"],
] as const;

/** The ledger of the account: what was billed, what was not, and why. */
export function EntriesScreen() {
  const current = useUsage()?.cycle.name;
  const first = useQuery(api.screensEntries.firstCycle, {}) ?? null;
  const [cycle, setCycle] = useState("");
  const [feature, setFeature] = useState<(typeof FEATURES)[number][0]>("");
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
          <FilterField
            label="Cycle"
            className="sm:w-40"
            options={[["", "This cycle"], ...(current === undefined ? [] : cyclesBefore(current, first))]}
            value={cycle}
            onChange={setCycle}
          />
          <FilterField
            label="Feature"
            className="sm:w-40"
            options={FEATURES}
            value={feature}
            onChange={setFeature}
          />
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

/** The cycles before one, the newest first, back to the first in which anything was counted. */
function cyclesBefore(name: string, first: string | null): Option<string>[] {
  // A cycle has the name of the month it starts in.
  const [year = 0, month = 1] = name.split("-").map(Number);
  return Array.from({ length: CYCLES_OFFERED - 1 }, (_, back) =>
    new Date(Date.UTC(year, month - 2 - back)).toISOString().slice(0, 7),
  )
    .filter((before) => first !== null && before >= first)
    .map((before) => [before, `Cycle ${before}`]);
}
