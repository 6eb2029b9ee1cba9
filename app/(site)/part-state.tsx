const STATES: Readonly<Record<string, { mark: string; label: string; tone: string }>> = {
  ok: { mark: "●", label: "runs", tone: "text-good" },
  waiting: { mark: "◌", label: "starting", tone: "text-muted" },
  late: { mark: "▲", label: "late", tone: "text-warn" },
  failed: { mark: "▲", label: "last run failed", tone: "text-warn" },
  down: { mark: "■", label: "down", tone: "text-bad" },
};
const UNKNOWN = { mark: "○", label: "not known", tone: "text-muted" };

/** One part of the system. The state is told by a word and a shape, not by colour alone. */
export function PartState({ name, status, detail }: { name: string; status: string; detail: string }) {
  const { mark, label, tone } = STATES[status] ?? UNKNOWN;
  return (
    <li className="flex flex-col gap-1 rounded-lg border border-line bg-card p-4">
      <p className="flex items-baseline justify-between gap-4">
        <span className="font-medium">{name}</span>
        <span className={`text-sm ${tone}`}>
          <span aria-hidden="true">{mark}</span> {label}
        </span>
      </p>
      <p className="text-sm text-muted">{detail}</p>
    </li>
  );
}
