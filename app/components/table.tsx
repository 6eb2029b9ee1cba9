import type { ReactNode } from "react";

export interface Column<Row> {
  readonly name: string;
  /** Numbers stand right under each other. */
  readonly isNumber?: boolean;
  /** For buttons: the head is there for screen readers only, and a phone shows no name beside the cell. */
  readonly isActions?: boolean;
  /** For sentences: on a phone it has the whole line. */
  readonly isWide?: boolean;
  readonly cell: (row: Row) => ReactNode;
}

/**
 * Rows under heads where there is room for them; else, as on a phone, each row is a block: the first cell, then the
 * others two or four in a line with their names, so that nothing has to be scrolled sideways. The room is that of the
 * table, since the screen has a menu beside it. Made of roles: a <table> that is laid out as blocks is no table to
 * screen readers any more.
 */
export function Table<Row>(props: {
  label: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  keyOf: (row: Row) => string;
}) {
  const { columns } = props;
  return (
    <div className="@container">
      <div role="table" aria-label={props.label} className="block w-full text-sm @3xl:table">
        <div role="rowgroup" className="hidden @3xl:table-header-group">
          <div role="row" className="table-row">
            {columns.map(({ name, isNumber, isActions }) => (
              <div
                key={name}
                role="columnheader"
                className={`table-cell border-b border-line px-3 pb-2 text-xs font-medium whitespace-nowrap text-muted first:pl-0 last:pr-0 ${isNumber === true ? "text-right" : "text-left"}`}
              >
                {isActions === true ? <span className="sr-only">{name}</span> : name}
              </div>
            ))}
          </div>
        </div>
        <div role="rowgroup" className="block @3xl:table-row-group">
          {props.rows.map((row) => (
            <div
              key={props.keyOf(row)}
              role="row"
              className="grid grid-cols-2 gap-x-4 border-b @lg:grid-cols-4 border-line py-3 first:pt-0 last:border-0 last:pb-0 @3xl:table-row @3xl:py-0"
            >
              {columns.map((column, index) => (
                <Cell key={column.name} column={column} row={row} isFirst={index === 0} />
              ))}
            </div>
          ))}
        </div>
      </div>
    </div>
  );
}

function Cell<Row>({ column, row, isFirst }: { column: Column<Row>; row: Row; isFirst: boolean }) {
  const { name, isNumber = false, isActions = false, isWide = false, cell } = column;
  const isWholeLine = isFirst || isActions;
  return (
    <div
      role="cell"
      className={`min-w-0 py-1 @3xl:table-cell @3xl:border-b @3xl:border-line @3xl:px-3 @3xl:py-2.5 @3xl:align-middle @3xl:first:pl-0 @3xl:last:pr-0 @3xl:[[role=row]:last-child>&]:border-0 ${isWholeLine || isWide ? "col-span-full" : ""} ${isWholeLine ? "" : "flex flex-col"} ${isNumber ? "tabular-nums @3xl:text-right" : ""}`}
    >
      {!isWholeLine && <span className="shrink-0 text-xs text-muted @3xl:hidden">{name}</span>}
      <div className={`min-w-0 ${isActions ? "flex flex-wrap gap-2 @3xl:justify-end" : ""}`}>{cell(row)}</div>
    </div>
  );
}
