/** How much of some work is done. `whole` null: not known, and the bar only says that it goes on. */
export function ProgressBar({ label, done, whole }: { label: string; done: number; whole: number | null }) {
  const share = whole === null ? null : Math.min(1, done / Math.max(1, whole));
  return (
    <div
      role="progressbar"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={whole ?? undefined}
      aria-valuenow={whole === null ? undefined : Math.min(done, whole)}
      className="h-2 w-full overflow-hidden rounded-full bg-sunken ring-1 ring-line ring-inset"
    >
      <div
        className={`h-full rounded-full bg-accent transition-[width] duration-300 ${share === null ? "w-1/3 animate-pulse" : "min-w-2"}`}
        style={share === null ? undefined : { width: `${share * 100}%` }}
      />
    </div>
  );
}
