"use client";

import { useMutation, useQuery } from "convex/react";
import { ExternalLink, Link2Off, Pencil, Power, Trash2 } from "lucide-react";
import { useRouter } from "next/navigation";
import { useState } from "react";
import { api } from "../../../../convex/_generated/api";
import type { LinkView } from "../../../../convex/links.ts";
import { BackLink } from "../../../components/back-link.tsx";
import { Button, ButtonLink, buttonClass, linkClass } from "../../../components/button.tsx";
import { CopyButton } from "../../../components/copy-button.tsx";
import { ConfirmDialog } from "../../../components/dialog.tsx";
import { formatUnits } from "../../../components/format.ts";
import { MeterBar } from "../../../components/meter-bar.tsx";
import { Fact } from "../../../components/fact.tsx";
import { Panel, ScreenHead } from "../../../components/panel.tsx";
import { Empty, Loading } from "../../../components/states.tsx";
import { Instant } from "../../../components/time.tsx";
import { toast } from "../../../components/toast.tsx";
import { EntryList } from "../../entries/entry-list.tsx";
import { LinkForm } from "../link-form.tsx";
import { LinkState } from "../links-screen.tsx";
import { ClickChart } from "./click-chart.tsx";
import { QrCode } from "./qr-code.tsx";

/** One link: its clicks by class over time, the newest of them with the reason, its QR code, and what can be done. */
export function LinkScreen({ linkId }: { linkId: string }) {
  const link = useQuery(api.links.get, { linkId });
  if (link === undefined) return <Loading what="the link" rows={6} />;
  if (link === null) {
    return (
      <Empty
        icon={Link2Off}
        title="There is no such link"
        action={<ButtonLink href="/app/links">All links</ButtonLink>}
      >
        It was deleted, or the address has a typing error. Its clicks stay in the entries.
      </Empty>
    );
  }
  return (
    <>
      <div className="flex flex-col gap-3">
        <BackLink href="/app/links">All links</BackLink>
        <ScreenHead title={link.title === "" ? `/${link.code}` : link.title} action={<Acts link={link} />}>
          <span className="break-all">{link.target}</span>
        </ScreenHead>
      </div>
      <div className="grid items-start gap-6 xl:grid-cols-[minmax(0,1fr)_20rem]">
        <div className="flex min-w-0 flex-col gap-6">
          <ClickChart linkId={linkId} />
          <Panel id="clicks" title="Newest clicks" about="Of this billing cycle, billed or not.">
            <EntryList filter={{ all: true, linkId, feature: "clicks" }} />
          </Panel>
        </div>
        <div className="flex flex-col gap-6">
          <About link={link} />
          <QrCode link={link} />
        </div>
      </div>
    </>
  );
}

function About({ link }: { link: LinkView }) {
  const { url, billedUnits, capUnits, overCapTarget } = link;
  return (
    <Panel id="about" title="Link" aside={<LinkState link={link} />}>
      <p className="flex items-center gap-1 text-sm">
        <a href={url} target="_blank" rel="noreferrer" className={`${linkClass} min-w-0 truncate font-mono`}>
          {url.replace(/^https?:\/\//, "")}
        </a>
        <CopyButton isIcon text={url} label="Copy the link" />
      </p>
      <dl className="flex flex-col gap-2 text-sm">
        <Fact name="Billed clicks">{formatUnits(billedUnits)}</Fact>
        <Fact name="Cap">{capUnits === null ? "none" : formatUnits(capUnits)}</Fact>
        {capUnits !== null && (
          <>
            <MeterBar
              isSmall
              label={`${formatUnits(billedUnits)} of ${formatUnits(capUnits)} billed clicks`}
              whole={capUnits}
              parts={[{ name: "billed", units: billedUnits, look: "used" }]}
            />
            <Fact name="Over the cap">{overCapTarget ?? "answers 410 (gone)"}</Fact>
          </>
        )}
        <Fact name="Made">
          <Instant ms={link.createdAtMs} />
        </Fact>
      </dl>
      {capUnits !== null && (
        <p className="text-xs text-pretty text-muted">
          Clicks of the first 5 seconds over the cap may still lead to the target. They are stored and not
          billed: the cap on billed clicks is exact.
        </p>
      )}
    </Panel>
  );
}

function Acts({ link }: { link: LinkView }) {
  const update = useMutation(api.links.update);
  const remove = useMutation(api.links.remove);
  const router = useRouter();
  const [open, setOpen] = useState<"edit" | "disable" | "delete" | null>(null);
  const close = () => setOpen(null);
  const { id: linkId, code, isActive } = link;

  async function turn(isOn: boolean) {
    const answer = await update({ linkId, isActive: isOn });
    switch (answer.kind) {
      case "updated":
        toast.done(isOn ? `/${code} is active again` : `/${code} is disabled`);
        return;
      case "not_found":
        toast.failed("Not done", `/${code} has been deleted meanwhile.`);
        return;
      case "invalid":
        toast.failed("Not done", answer.errors.map(({ message }) => message).join("; "));
    }
  }

  async function onDelete() {
    const { kind } = await remove({ linkId });
    if (kind === "not_found") {
      toast.failed("Not deleted", `/${code} has been deleted meanwhile.`);
      return;
    }
    toast.done(`/${code} is deleted`);
    router.push("/app/links");
  }

  return (
    <div className="flex flex-wrap gap-2">
      <a href={link.url} target="_blank" rel="noreferrer" className={buttonClass("secondary")}>
        <ExternalLink aria-hidden className="size-4" />
        Open
      </a>
      <Button onClick={() => setOpen("edit")}>
        <Pencil aria-hidden className="size-4" />
        Change
      </Button>
      <Button
        onClick={() =>
          isActive
            ? setOpen("disable")
            : void turn(true).catch(() => toast.failed("Not done", "No answer came."))
        }
      >
        <Power aria-hidden className="size-4" />
        {isActive ? "Disable" : "Enable"}
      </Button>
      <Button look="danger" onClick={() => setOpen("delete")}>
        <Trash2 aria-hidden className="size-4" />
        Delete
      </Button>
      <LinkForm isOpen={open === "edit"} onClose={close} link={link} />
      <ConfirmDialog
        isOpen={open === "disable"}
        onClose={close}
        title={`Disable /${code}?`}
        confirm="Disable"
        act={() => turn(false)}
      >
        <p>People who follow it get a page that says it is gone. It can be enabled again.</p>
      </ConfirmDialog>
      <ConfirmDialog
        isOpen={open === "delete"}
        onClose={close}
        title={`Delete /${code}?`}
        confirm="Delete for good"
        act={onDelete}
      >
        <p>It stops at once and cannot come back; its code is never given again.</p>
        <p>Its {formatUnits(link.billedUnits)} billed clicks stay in the entries.</p>
      </ConfirmDialog>
    </div>
  );
}
