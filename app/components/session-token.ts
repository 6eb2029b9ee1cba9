/**
 * The token of the session in the browser. Renewals and the sign-out of all tabs take turns under one lock: the answer
 * of a renewal that is on its way would bring the cookies of the session back after the sign-out took them away, and
 * two tabs would spend one refresh token.
 */

/** Of the lock and of the channel between the tabs. */
const NAME = "holdfast-session";
const SIGNED_OUT = "signed-out";
const WAIT_FIRST_MS = 500;
const WAIT_MAX_MS = 15_000;
/** A renewal without an answer gives its turn back. */
const ANSWER_MS = 10_000;
/** A renewal of another tab is waited for this long at a sign-out, and a sign-out by the renewals of other tabs. */
const TURN_MS = 10_000;

const signingOut = new AbortController();

/** One for the whole tab: what it posts reaches the others and never itself. The server renders without one. */
const tabs =
  typeof window !== "undefined" && "BroadcastChannel" in window ? new BroadcastChannel(NAME) : null;

/** Null only when the session is over; a server that cannot be reached is asked again until it can. */
export async function fetchToken(force: boolean): Promise<string | null> {
  for (let attempt = 0; ; attempt += 1) {
    const answer = await inTurn(() => askForToken(force)).catch(() => undefined);
    if (answer !== undefined) return answer;
    if (signingOut.signal.aborted) return null;
    await wait(Math.min(WAIT_FIRST_MS * 2 ** attempt, WAIT_MAX_MS));
  }
}

/** Undefined when the server gives no answer that counts. */
async function askForToken(force: boolean): Promise<string | null | undefined> {
  const response = await fetch("/api/session", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ force }),
    cache: "no-store",
    signal: AbortSignal.any([signingOut.signal, AbortSignal.timeout(ANSWER_MS)]),
  });
  if (response.ok) return ((await response.json()) as { accessToken: string }).accessToken;
  return response.status === 401 ? null : undefined;
}

/** Ends this tab's renewals, waits for those of other tabs, and leaves for `href`; they wait until it has left. */
export async function signOut(href: string): Promise<void> {
  signingOut.abort();
  const leave = (): Promise<void> => {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a channel, which has no target
    tabs?.postMessage(SIGNED_OUT);
    window.location.assign(href);
    return wait(TURN_MS);
  };
  const late = AbortSignal.timeout(TURN_MS);
  await inTurn(leave, late).catch(() => (late.aborted ? leave() : undefined));
}

/** Calls back when another tab signs out. Answers how to stop. */
export function onSignOut(tell: () => void): () => void {
  const listen = ({ data }: MessageEvent): void => {
    if (data !== SIGNED_OUT) return;
    signingOut.abort();
    tell();
  };
  tabs?.addEventListener("message", listen);
  return () => tabs?.removeEventListener("message", listen);
}

/** Browsers have locks on secure origins only; a plain-HTTP site of another machine goes without turns. */
function inTurn<Result>(act: () => Promise<Result>, signal?: AbortSignal): Promise<Result> {
  if (!("locks" in navigator)) return act();
  return navigator.locks.request(NAME, signal === undefined ? {} : { signal }, act) as Promise<Result>;
}

function wait(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
