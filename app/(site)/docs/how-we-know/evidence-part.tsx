import { type Column, Table } from "../../../components/table.tsx";
import { Code } from "../../text.tsx";

interface Run {
  readonly command: string;
  readonly date: string;
  readonly commit: string;
}

interface Told {
  readonly title: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

interface Saved {
  readonly id: string;
  readonly run: Run | null;
  readonly rows: readonly (readonly string[])[];
  readonly tables: readonly Told[];
}

/** One saved result: its figures, and how to get them again. */
export function EvidencePart({ evidence: { id, run, rows, tables } }: { evidence: Saved }) {
  return (
    <>
      <table className="w-full max-w-3xl text-sm">
        <caption className="sr-only">{run?.command ?? `Sums of ${id}`}</caption>
        <thead className="sr-only">
          <tr>
            <th scope="col">Figure</th>
            <th scope="col">Value</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(([name, value]) => (
            <tr key={name} className="border-b border-line align-top">
              <th scope="row" className="py-1.5 pr-4 text-left font-normal text-muted">
                {name}
              </th>
              <td className="py-1.5 text-right break-words tabular-nums">{value}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {tables.map(({ title, columns, rows: told }) => (
        <div key={title} className="flex max-w-3xl flex-col gap-3">
          <h3 className="text-sm font-semibold">{title}</h3>
          {columns.includes("Command") ? (
            <Table
              label={`${id}: ${title}`}
              columns={columns.map((name, index) => columnOf(name, index))}
              rows={told}
              keyOf={(row) => row.join(" ")}
            />
          ) : (
            <Counts label={`${id}: ${title}`} columns={columns} rows={told} />
          )}
        </div>
      ))}
      {run !== null && (
        <p className="text-sm text-muted">
          <Code>{run.command}</Code> · {run.date} · commit {commitWords(run.commit)}
        </p>
      )}
    </>
  );
}

/** Short numbers, which stand beside each other on a phone as well. */
function Counts({ label, columns, rows }: Pick<Told, "columns" | "rows"> & { label: string }) {
  return (
    <table aria-label={label} className="w-full text-xs tabular-nums sm:text-sm">
      <thead>
        <tr className="border-b border-line align-bottom text-xs text-muted">
          {columns.map((name) => (
            <th
              key={name}
              scope="col"
              className="py-1.5 pl-2 text-right font-medium first:pl-0 first:text-left"
            >
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map(([name, ...counts]) => (
          <tr key={name} className="border-b border-line">
            <th scope="row" className="py-1.5 text-left font-normal">
              {name}
            </th>
            {counts.map((count, index) => (
              // oxlint-disable-next-line react/no-array-index-key -- a count is named by its column
              <td key={index} className="py-1.5 pl-2 text-right">
                {count}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function columnOf(name: string, index: number): Column<readonly string[]> {
  const text = (row: readonly string[]) => row[index] ?? "";
  if (name === "Command") return { name, cell: (row) => <Code>{text(row)}</Code> };
  if (name === "Commit") return { name, cell: (row) => commitWords(text(row)) };
  if (name === "Date") return { name, cell: (row) => <span className="whitespace-nowrap">{text(row)}</span> };
  return { name, isNumber: index > 0, cell: text };
}

const CHANGED = " with changes";

/** The code that ran, and whether it had more in it than its commit. */
function commitWords(commit: string): string {
  return commit.endsWith(CHANGED)
    ? `${commit.slice(0, -CHANGED.length)}, and changes that no commit had yet`
    : commit;
}
