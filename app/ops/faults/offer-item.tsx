"use client";

import { useState } from "react";
import { FAULT_SPANS, type FaultOffer, type FaultSpanId } from "../../../lib/kinde/fault-offers.ts";
import { Badge } from "../../components/badge.tsx";
import { Button } from "../../components/button.tsx";
import { FilterField } from "../../components/list-controls.tsx";
import { NextLine } from "./next-line.tsx";

/** One fault that can be switched on, and for how long. */
export function OfferItem(props: {
  offer: FaultOffer;
  isOn: boolean;
  switchOn: (span: FaultSpanId) => Promise<void>;
}) {
  const { title, about } = props.offer;
  const [span, setSpan] = useState<FaultSpanId>("1");
  const [isBusy, setIsBusy] = useState(false);

  async function onSwitch() {
    setIsBusy(true);
    await props.switchOn(span);
    setIsBusy(false);
  }

  return (
    <li className="flex flex-wrap items-center justify-between gap-x-6 gap-y-3 py-4 first:pt-0 last:pb-0">
      <div className="flex min-w-0 flex-1 basis-80 flex-col gap-0.5 text-sm">
        <h3 className="flex flex-wrap items-center gap-2 font-medium">
          {title}
          {props.isOn && <Badge tone="warn">on</Badge>}
        </h3>
        <p className="text-pretty text-muted">{about}</p>
        <NextLine offerId={props.offer.id} />
      </div>
      <div className="flex items-end gap-2">
        <FilterField
          label={`How long: ${title}`}
          className="w-36"
          options={FAULT_SPANS.map(({ id, name }) => [id, name] as const)}
          value={span}
          onChange={setSpan}
        />
        <Button isBusy={isBusy} onClick={() => void onSwitch()}>
          Switch on<span className="sr-only"> {title}</span>
        </Button>
      </div>
    </li>
  );
}
