import { Code } from "../../text.tsx";

interface Saved {
  readonly command: string;
  readonly date: string;
  readonly commit: string;
  readonly rows: readonly (readonly string[])[];
}

/** One saved result: its figures, and how to get them again. */
export function EvidencePart({ evidence: { command, date, commit, rows } }: { evidence: Saved }) {
  return (
    <>
      <table className="w-full max-w-3xl text-sm">
        <caption className="sr-only">{command}</caption>
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
      <p className="text-sm text-muted">
        <Code>{command}</Code> · {date} · commit {commit}
      </p>
    </>
  );
}
