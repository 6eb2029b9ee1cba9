"use client";

import { useQuery } from "convex/react";
import { SearchX, Stamp } from "lucide-react";
import { useState } from "react";
import { api } from "../../../convex/_generated/api";
import { SelectField } from "../../components/field.tsx";
import { ListControls, Pager, SearchField } from "../../components/list-controls.tsx";
import { Panel, ScreenHead } from "../../components/panel.tsx";
import { Empty, Loading } from "../../components/states.tsx";
import { useKept } from "../../components/use-kept.ts";
import { usePages } from "../../components/use-pages.ts";
import { DecideDialog } from "./decide-dialog.tsx";
import { ReviewItem } from "./review-item.tsx";
import { KINDS, type ReviewView } from "./words.ts";

type Known = keyof typeof KINDS;

/** What a person has to decide, and what was decided. */
export function ReviewsScreen() {
  const [status, setStatus] = useState<"open" | "decided">("open");
  const [kind, setKind] = useState<Known | "">("");
  const [text, setText] = useState("");
  const pages = usePages(`${status} ${kind} ${text}`);
  const page = useKept(
    useQuery(api.screensOperators.reviews, {
      status,
      cursor: pages.cursor,
      ...(kind === "" ? {} : { kind }),
      ...(text === "" ? {} : { text }),
    }),
  );
  const [asked, setAsked] = useState<ReviewView | null>(null);
  const [isAsking, setIsAsking] = useState(false);
  const isFiltered = kind !== "" || text !== "";
  return (
    <>
      <ScreenHead title="Reviews">
        What the workers found and must not decide by themselves. Each decision is signed by you and stays in
        the audit.
      </ScreenHead>
      <Panel id="reviews" title={status === "open" ? "Waiting for a decision" : "Decided"}>
        <ListControls>
          <SearchField label="Search reviews" placeholder="Account, detail or id…" onSearch={setText} />
          <SelectField
            hideLabel
            label="Kind"
            className="sm:w-60"
            value={kind}
            onChange={(event) => setKind(event.target.value as Known | "")}
          >
            <option value="">All kinds</option>
            {Object.entries(KINDS).map(([value, { name }]) => (
              <option key={value} value={value}>
                {name}
              </option>
            ))}
          </SelectField>
          <SelectField
            hideLabel
            label="State"
            className="sm:w-36"
            value={status}
            onChange={(event) => setStatus(event.target.value === "open" ? "open" : "decided")}
          >
            <option value="open">Open</option>
            <option value="decided">Decided</option>
          </SelectField>
        </ListControls>
        {page === undefined ? (
          <Loading what="the reviews" rows={5} />
        ) : page.reviews.length > 0 ? (
          <ul aria-label="Reviews" className="flex flex-col divide-y divide-line">
            {page.reviews.map((review) => (
              <ReviewItem
                key={review.id}
                review={review}
                onDecide={() => {
                  setAsked(review);
                  setIsAsking(true);
                }}
              />
            ))}
          </ul>
        ) : isFiltered || pages.number > 1 ? (
          <Empty icon={SearchX} title="No review fits">
            {page.cursor === null
              ? "Try another kind or word."
              : "Those looked through do not; older ones may."}
          </Empty>
        ) : (
          <Empty
            icon={Stamp}
            title={status === "open" ? "Nothing waits for a decision" : "Nothing was decided yet"}
          >
            {status === "open" &&
              "Late usage, dead events, missed webhooks and reports that keep failing would be here."}
          </Empty>
        )}
        {page !== undefined && <Pager pages={pages} nextCursor={page.cursor} what="reviews" />}
      </Panel>
      {asked !== null && (
        <DecideDialog key={asked.id} review={asked} isOpen={isAsking} onClose={() => setIsAsking(false)} />
      )}
    </>
  );
}
