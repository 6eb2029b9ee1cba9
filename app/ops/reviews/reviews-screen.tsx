"use client";

import { SearchX, Stamp } from "lucide-react";
import { useState } from "react";
import { api } from "../../../convex/_generated/api";
import { ListBody } from "../../components/list-body.tsx";
import { FilterField, ListControls, optionsOf, SearchField } from "../../components/list-controls.tsx";
import { Panel, ScreenHead } from "../../components/panel.tsx";
import { Empty } from "../../components/states.tsx";
import { useList } from "../../components/use-list.ts";
import { DecideDialog } from "./decide-dialog.tsx";
import { ReviewItem } from "./review-item.tsx";
import { KINDS, type ReviewView } from "./words.ts";

type Known = keyof typeof KINDS;

const STATES = [
  ["open", "Open"],
  ["decided", "Decided"],
] as const;

/** What a person has to decide, and what was decided. */
export function ReviewsScreen() {
  const [status, setStatus] = useState<"open" | "decided">("open");
  const [kind, setKind] = useState<Known | "">("");
  const [text, setText] = useState("");
  const list = useList(api.screensOperators.reviews, {
    status,
    ...(kind === "" ? {} : { kind }),
    ...(text === "" ? {} : { text }),
  });
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
          <FilterField
            label="Kind"
            className="sm:w-60"
            options={[["", "All kinds"], ...optionsOf(KINDS)]}
            value={kind}
            onChange={setKind}
          />
          <FilterField
            label="State"
            className="sm:w-36"
            options={STATES}
            value={status}
            onChange={setStatus}
          />
        </ListControls>
        <ListBody
          list={list}
          rows={list.page?.reviews}
          what="reviews"
          loading="the reviews"
          loadingRows={5}
          isFiltered={isFiltered}
          noneFits={
            <Empty icon={SearchX} title="No review fits">
              {list.hasMore ? "Those looked through do not; older ones may." : "Try another kind or word."}
            </Empty>
          }
          noneYet={
            <Empty
              icon={Stamp}
              title={status === "open" ? "Nothing waits for a decision" : "Nothing was decided yet"}
            >
              {status === "open" &&
                "Late usage, dead events, missed webhooks and reports that keep failing would be here."}
            </Empty>
          }
        >
          {(reviews) => (
            <ul aria-label="Reviews" className="flex flex-col divide-y divide-line">
              {reviews.map((review) => (
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
          )}
        </ListBody>
      </Panel>
      {asked !== null && (
        <DecideDialog key={asked.id} review={asked} isOpen={isAsking} onClose={() => setIsAsking(false)} />
      )}
    </>
  );
}
