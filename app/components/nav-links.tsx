"use client";

import {
  Activity,
  BellRing,
  CreditCard,
  FileClock,
  FlaskConical,
  Gauge,
  Inbox,
  KeyRound,
  Link2,
  type LucideIcon,
  Play,
  ReceiptText,
  Scale,
  Settings,
  Shuffle,
  Stamp,
  UserRound,
  Users,
  Workflow,
  Zap,
} from "lucide-react";
import Link from "next/link";
import { usePathname } from "next/navigation";
import { useEffect, useRef } from "react";

/** Icons by name: the sections come from the server, which cannot hand over components. */
const ICONS = {
  activity: Activity,
  bell: BellRing,
  card: CreditCard,
  events: Workflow,
  faults: Zap,
  gauge: Gauge,
  inbox: Inbox,
  key: KeyRound,
  lab: FlaskConical,
  link: Link2,
  log: FileClock,
  play: Play,
  receipt: ReceiptText,
  review: Stamp,
  scale: Scale,
  settings: Settings,
  shuffle: Shuffle,
  user: UserRound,
  users: Users,
} as const satisfies Record<string, LucideIcon>;

export interface NavSection {
  readonly href: string;
  readonly name: string;
  readonly icon: keyof typeof ICONS;
}

export function NavLinks({ sections }: { sections: readonly NavSection[] }) {
  const path = usePathname();
  // The section of a screen below it is the longest that its address begins with.
  const current = sections
    .filter(({ href }) => path === href || path.startsWith(`${href}/`))
    .reduce((longest, { href }) => (href.length > longest.length ? href : longest), "");
  const list = useRef<HTMLUListElement>(null);
  // On a phone the strip may be wider than the screen: where one is has to be in sight. The strip alone is scrolled:
  // where something is scrolled into view, browsers go on with the Tab key from there, past the link to the content.
  useEffect(() => {
    const strip = list.current;
    const link = strip?.querySelector(`[href="${current}"]`);
    if (!strip || !link) return;
    const [outer, inner] = [strip.getBoundingClientRect(), link.getBoundingClientRect()];
    strip.scrollLeft += inner.left + inner.width / 2 - (outer.left + outer.width / 2);
  }, [current]);
  return (
    <ul ref={list} className="flex gap-1 overflow-x-auto px-3 pb-2 lg:flex-col lg:pb-0">
      {sections.map(({ href, name, icon }) => {
        const Icon = ICONS[icon];
        return (
          <li key={href} className="shrink-0">
            <Link
              href={href}
              prefetch={false}
              aria-current={href === current ? "page" : undefined}
              className="flex h-9 items-center gap-2.5 rounded-md px-2.5 text-sm text-muted hover:bg-sunken hover:text-ink aria-[current=page]:bg-accent-soft aria-[current=page]:font-medium aria-[current=page]:text-accent"
            >
              <Icon aria-hidden className="size-4" />
              {name}
            </Link>
          </li>
        );
      })}
    </ul>
  );
}
