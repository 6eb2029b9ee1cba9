import { buttonClass } from "../components/button.tsx";

const STEPS = [
  {
    title: "Sign in",
    text: "Make a test user: a name and an email, no password. The page that asks is a stand-in for Kinde on this machine.",
  },
  {
    title: "Tick operator",
    text: "It gives that user the permission for the operators' screens beside an account of their own.",
  },
  {
    title: "Open the lab",
    text: "Press Run both sides, and watch five jobs pass a plain check where two fit, and the hold let two in.",
  },
] as const;

/** From nothing to the first thing worth seeing. */
export function FirstMinute() {
  return (
    <section aria-labelledby="first-minute" className="flex flex-col gap-5">
      <h2 id="first-minute" className="text-xl font-semibold tracking-tight">
        The first minute
      </h2>
      <ol className="grid gap-4 sm:grid-cols-3">
        {STEPS.map(({ title, text }, index) => (
          <li key={title} className="flex gap-3 rounded-xl border border-line bg-card p-5">
            <span
              aria-hidden
              className="flex size-7 shrink-0 items-center justify-center rounded-full bg-accent-soft text-sm font-semibold text-accent"
            >
              {index + 1}
            </span>
            <div className="flex flex-col gap-1">
              <h3 className="font-medium">{title}</h3>
              <p className="text-sm text-muted">{text}</p>
            </div>
          </li>
        ))}
      </ol>
      <p>
        <a href="/ops/lab" className={buttonClass("primary")}>
          Open the Concurrency Lab
        </a>
      </p>
    </section>
  );
}
