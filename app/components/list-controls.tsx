"use client";

import { ChevronLeft, ChevronRight, Search } from "lucide-react";
import { type ReactNode, useEffect, useState } from "react";
import { Button } from "./button.tsx";
import { SelectField, TextField } from "./field.tsx";
import type { List, PageOfList } from "./use-list.ts";

/** The row above a list: search and filters. */
export function ListControls({ children }: { children: ReactNode }) {
  return <div className="flex flex-col gap-3 sm:flex-row sm:flex-wrap sm:items-end">{children}</div>;
}

/** Somebody who types is not asked for each letter. */
const SETTLE_MS = 250;

export function SearchField(props: { label: string; placeholder: string; onSearch: (text: string) => void }) {
  const { onSearch } = props;
  const [text, setText] = useState("");
  useEffect(() => {
    const timer = setTimeout(() => onSearch(text.trim()), SETTLE_MS);
    return () => clearTimeout(timer);
  }, [text, onSearch]);
  return (
    <div className="relative min-w-0 flex-1 sm:min-w-52">
      <TextField
        type="search"
        hideLabel
        label={props.label}
        placeholder={props.placeholder}
        value={text}
        onChange={(event) => setText(event.target.value)}
        className="[&_input]:pl-9"
      />
      <Search aria-hidden className="pointer-events-none absolute top-2.5 left-3 size-4 text-muted" />
    </div>
  );
}

/** A value, and the name it is chosen by. */
export type Option<Value extends string> = readonly [value: Value, name: string];

/** One of a few values, without a label in sight: its place and the names say what it is. */
export function FilterField<Value extends string>(props: {
  label: string;
  className: string;
  options: readonly Option<Value>[];
  value: Value;
  onChange: (value: Value) => void;
}) {
  const { options, onChange, ...rest } = props;
  return (
    <SelectField
      hideLabel
      {...rest}
      onChange={({ target }) => {
        const chosen = options.find(([value]) => value === target.value);
        if (chosen !== undefined) onChange(chosen[0]);
      }}
    >
      {options.map(([value, name]) => (
        <option key={value} value={value}>
          {name}
        </option>
      ))}
    </SelectField>
  );
}

/** The options of a record of names. */
export function optionsOf<Value extends string>(
  names: Readonly<Record<Value, string | { readonly name: string }>>,
): Option<Value>[] {
  const entries = Object.entries<string | { readonly name: string }>(names);
  return entries.map(([value, named]) => [value as Value, typeof named === "string" ? named : named.name]);
}

/**
 * Back and forth between pages. Nothing while there is only one. There is no way forth from a page that is on its way:
 * the cursor at hand is that of another one. The button keeps the focus meanwhile.
 */
export function Pager({
  list: { page, pages, isArriving },
  what,
  names: [back, forth] = ["Newer", "Older"],
}: {
  list: List<PageOfList>;
  what: string;
  /** What lies before a page and after it. */
  names?: readonly [string, string];
}) {
  const nextCursor = page?.cursor ?? null;
  if (pages.number === 1 && nextCursor === null) return null;
  return (
    <nav aria-label={`Pages of ${what}`} className="flex items-center justify-between gap-3">
      <Button size="sm" disabled={pages.number === 1} onClick={pages.back}>
        <ChevronLeft aria-hidden className="size-4" />
        {back}
      </Button>
      <p className="text-sm text-muted tabular-nums">Page {pages.number}</p>
      <Button
        size="sm"
        disabled={nextCursor === null}
        aria-disabled={isArriving}
        onClick={() => nextCursor !== null && !isArriving && pages.forth(nextCursor)}
      >
        {forth}
        <ChevronRight aria-hidden className="size-4" />
      </Button>
    </nav>
  );
}
