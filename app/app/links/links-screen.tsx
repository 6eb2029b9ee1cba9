"use client";

import { Link2, Plus, SearchX } from "lucide-react";
import Link from "next/link";
import { useState } from "react";
import { api } from "../../../convex/_generated/api";
import type { LinkView } from "../../../convex/links.ts";
import { Badge } from "../../components/badge.tsx";
import { Button, ButtonLink, linkClass } from "../../components/button.tsx";
import { CopyButton } from "../../components/copy-button.tsx";
import { formatUnits } from "../../components/format.ts";
import { ListBody } from "../../components/list-body.tsx";
import { ListControls, SearchField } from "../../components/list-controls.tsx";
import { Panel, ScreenHead } from "../../components/panel.tsx";
import { Empty } from "../../components/states.tsx";
import { type Column, Table } from "../../components/table.tsx";
import { Instant } from "../../components/time.tsx";
import { useList, useSearch } from "../../components/use-list.ts";
import { LinkForm } from "./link-form.tsx";

const PAGE = 20;

const COLUMNS: readonly Column<LinkView>[] = [
  {
    name: "Link",
    cell: (link) => (
      <span className="flex min-w-0 items-center gap-1">
        <Link
          href={`/app/links/${link.id}`}
          prefetch={false}
          className={`${linkClass} block max-w-40 truncate font-mono`}
        >
          /{link.code}
        </Link>
        <CopyButton isIcon text={link.url} label={`Copy ${link.url}`} />
      </span>
    ),
  },
  {
    name: "Leads to",
    cell: (link) => (
      <span className="block max-w-52 truncate xl:max-w-80" title={link.target}>
        {link.title === "" ? link.displayHost : `${link.title} · ${link.displayHost}`}
      </span>
    ),
  },
  { name: "State", cell: (link) => <LinkState link={link} /> },
  {
    name: "Billed clicks",
    isNumber: true,
    cell: ({ billedUnits, capUnits }) =>
      capUnits === null
        ? formatUnits(billedUnits)
        : `${formatUnits(billedUnits)} of ${formatUnits(capUnits)}`,
  },
  { name: "Made", cell: (link) => <Instant ms={link.createdAtMs} /> },
  {
    name: "Details",
    isActions: true,
    cell: (link) => (
      <ButtonLink size="sm" href={`/app/links/${link.id}`}>
        Details<span className="sr-only"> of /{link.code}</span>
      </ButtonLink>
    ),
  },
];

export function LinkState({ link: { isActive, capUnits, billedUnits } }: { link: LinkView }) {
  if (!isActive) return <Badge>disabled</Badge>;
  return capUnits !== null && billedUnits >= capUnits ? (
    <Badge tone="warn">at its cap</Badge>
  ) : (
    <Badge tone="good">active</Badge>
  );
}

/** Short links of the account, newest first, live. */
export function LinksScreen() {
  const [isMaking, setIsMaking] = useState(false);
  const [text, setText] = useState("");
  const isSearch = text !== "";
  const listed = useList(api.links.list, isSearch ? "skip" : { limit: PAGE });
  const searched = useSearch(api.screensLists.links, isSearch ? { text } : "skip");
  const list = isSearch ? searched : listed;
  const make = (
    <Button look="primary" onClick={() => setIsMaking(true)}>
      <Plus aria-hidden className="size-4" />
      New link
    </Button>
  );
  return (
    <>
      <ScreenHead title="Links" action={make}>
        Each click on a short link is one row of the ledger. Clicks by programs, prefetches and clicks over
        the cap are kept and not billed.
      </ScreenHead>
      <Panel id="links" title="Your links">
        <ListControls>
          <SearchField label="Search links" placeholder="Code, title or target…" onSearch={setText} />
        </ListControls>
        <ListBody
          list={list}
          rows={list.page?.links}
          what="links"
          loading="your links"
          loadingRows={5}
          isFiltered={isSearch}
          noneFits={
            <Empty icon={SearchX} title="No link fits">
              The search looks at code, title and target.
            </Empty>
          }
          noneYet={
            <Empty icon={Link2} title="No link yet" action={make}>
              A short link sends people on and counts each click.
            </Empty>
          }
        >
          {(links) => <Table label="Links" columns={COLUMNS} rows={links} keyOf={({ id }) => id} />}
        </ListBody>
        {isSearch && searched.page?.hasMore === true && (
          <p className="text-sm text-muted">There are more; type more of it.</p>
        )}
      </Panel>
      <LinkForm isOpen={isMaking} onClose={() => setIsMaking(false)} link={null} />
    </>
  );
}
