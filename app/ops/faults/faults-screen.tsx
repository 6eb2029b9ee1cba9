"use client";

import { RefreshCw, ZapOff } from "lucide-react";
import { FAULT_OFFERS, offerOf } from "../../../lib/kinde/fault-offers.ts";
import type { ActiveFault, StruckFault } from "../../../lib/server/emulator-control.ts";
import { Button } from "../../components/button.tsx";
import { countOf, formatDuration, formatUnits } from "../../components/format.ts";
import { Notice } from "../../components/notice.tsx";
import { Panel, ScreenHead } from "../../components/panel.tsx";
import { Empty, Loading } from "../../components/states.tsx";
import { Ago } from "../../components/time.tsx";
import { NextLine } from "./next-line.tsx";
import { OfferItem } from "./offer-item.tsx";
import { type Faults, useFaults } from "./use-faults.ts";

const GROUPS = ["Meters", "Limits and plans", "Webhooks"] as const;

/** What can go wrong at the provider, to be switched on by hand; only where the local stand-in is the provider. */
export function FaultsScreen({ hasEmulator }: { hasEmulator: boolean }) {
  return (
    <>
      <ScreenHead title="Faults">
        What can go wrong between Holdfast and Kinde, switched on by hand. Each says what to do next to see
        what becomes of it.
      </ScreenHead>
      {hasEmulator ? (
        <Switches />
      ) : (
        <Empty icon={ZapOff} title="Only the local stand-in for Kinde has faults">
          This installation talks to a real Kinde tenant, where nothing is broken on purpose. Start it without{" "}
          <code className="font-mono">KINDE_ISSUER_URL</code> to try faults.
        </Empty>
      )}
    </>
  );
}

function Switches() {
  const control = useFaults();
  const { faults = [] } = control.state ?? {};
  return (
    <>
      {control.isUnreachable && (
        <Notice isNews tone="bad" title="The stand-in for Kinde does not answer" next="Does it still run?" />
      )}
      <ActivePanel control={control} />
      {control.state !== undefined && control.state.struck.length > 0 && (
        <StruckPanel struck={control.state.struck} />
      )}
      {GROUPS.map((group) => (
        <Panel key={group} id={`group-${group.replaceAll(" ", "-")}`} title={group}>
          <ul aria-label={group} className="flex flex-col divide-y divide-line">
            {FAULT_OFFERS.filter((offer) => offer.group === group).map((offer) => (
              <OfferItem
                key={offer.id}
                offer={offer}
                isOn={faults.some(({ settings }) => offerOf(settings)?.id === offer.id)}
                switchOn={(span) => control.switchOn(offer.id, span)}
              />
            ))}
          </ul>
        </Panel>
      ))}
    </>
  );
}

function ActivePanel({ control: { state, refresh, switchOff } }: { control: Faults }) {
  const faults = state?.faults;
  return (
    <Panel
      id="active"
      title="Switched on"
      about="A restart of the stand-in switches all of them off."
      aside={
        <div className="flex flex-wrap gap-2">
          <Button size="sm" onClick={() => void refresh()}>
            <RefreshCw aria-hidden className="size-4" />
            Look again
          </Button>
          {faults !== undefined && faults.length > 0 && (
            <Button size="sm" look="danger" onClick={() => void switchOff(null)}>
              Switch all off
            </Button>
          )}
        </div>
      }
    >
      {faults === undefined ? (
        <Loading what="the faults" rows={1} />
      ) : faults.length === 0 ? (
        <p role="status" className="text-sm text-muted">
          None: everything works as it should.
        </p>
      ) : (
        <ul aria-label="Switched on" className="flex flex-col divide-y divide-line">
          {faults.map((fault) => (
            <li
              key={fault.id}
              className="flex flex-wrap items-center gap-x-4 gap-y-1 py-2.5 text-sm first:pt-0 last:pb-0"
            >
              <span className="font-medium">{titleOf(fault)}</span>
              <span className="min-w-0 flex-1 basis-44 text-muted">
                {spanOf(fault)}; struck {formatUnits(fault.hits)} {fault.hits === 1 ? "time" : "times"}
              </span>
              <Button size="sm" onClick={() => void switchOff(fault.id)}>
                Switch off<span className="sr-only"> {titleOf(fault)}</span>
              </Button>
              <div className="basis-full">
                <NextLine offerId={offerOf(fault.settings)?.id} />
              </div>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}

/** What a fault for one request leaves behind: without it nobody could tell one that struck from one switched off. */
function StruckPanel({ struck }: { struck: readonly StruckFault[] }) {
  return (
    <Panel id="struck" title="Struck last" about="Since the stand-in started, on or off by now.">
      <ul aria-label="Struck last" className="flex flex-col divide-y divide-line">
        {struck.map((fault) => (
          <li
            key={`${fault.settings.fault} ${fault.settings.endpoint}`}
            className="flex flex-wrap items-center gap-x-4 gap-y-1 py-2.5 text-sm first:pt-0 last:pb-0"
          >
            <span className="font-medium">{titleOf(fault)}</span>
            <span className="text-muted">
              {countOf(fault.hits, "time")}, last <Ago ms={fault.lastAtMs} />
            </span>
            <div className="basis-full">
              <NextLine offerId={offerOf(fault.settings)?.id} />
            </div>
          </li>
        ))}
      </ul>
    </Panel>
  );
}

function titleOf({ settings }: Pick<ActiveFault, "settings">): string {
  return offerOf(settings)?.title ?? `${settings.fault} on ${settings.endpoint}`;
}

function spanOf({ settings: { count, durationMs } }: ActiveFault): string {
  if (count !== undefined) return count === 1 ? "for the next request" : `for ${formatUnits(count)} requests`;
  return durationMs === undefined ? "until it is switched off" : `for ${formatDuration(durationMs)} in all`;
}
