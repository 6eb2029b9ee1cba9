import { once } from "node:events";
import { Agent, get, type IncomingMessage } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";

export interface Clicking {
  /** The referrers of the clicks that were answered with a 302 so far; each click has one of its own. */
  readonly answered: readonly string[];
  /** When nobody answers any more, or `stop` was called and the last click is answered. */
  readonly ended: Promise<void>;
  stop(): Promise<void>;
}

/** Clicks a short link in some lanes, as fast as the answers come. */
export function startClicking(url: string, lanes: number): Clicking {
  const answered: string[] = [];
  const agent = new Agent({ keepAlive: true, maxSockets: lanes });
  let clicks = 0;
  const stopping = new AbortController();
  async function lane(): Promise<void> {
    while (!stopping.signal.aborted) {
      const referer = `https://from.example/${clicks++}`;
      const headers = {
        referer,
        "user-agent": "Mozilla/5.0 (X11; Linux x86_64) Chrome/140.0.0.0 Safari/537.36",
      };
      const request = get(url, { agent, headers });
      try {
        const [response] = (await once(request, "response")) as [IncomingMessage];
        response.resume();
        if (response.statusCode === 302) answered.push(referer);
      } catch {
        return;
      }
    }
  }
  const ended = Promise.all(Array.from({ length: lanes }, lane)).then(() => agent.destroy());
  const stop = (): Promise<void> => {
    stopping.abort();
    return ended;
  };
  return { answered, ended, stop };
}

/** The referrers of an account's click entries, once those that are waited for are there or half a minute is over. */
export async function recordedReferrers(
  url: string,
  secret: string,
  wanted: readonly string[],
): Promise<string[]> {
  const read = async (): Promise<string[]> => {
    const response = await fetch(`${url}/api/v1/usage/entries?feature=clicks&all=true&format=ndjson`, {
      headers: { authorization: `Bearer ${secret}` },
    });
    const lines = (await response.text()).split("\n").filter((line) => line !== "");
    return lines.map((line) => (JSON.parse(line) as { origin: { referrer: string } }).origin.referrer);
  };
  let recorded = await read();
  for (let looks = 0; looks < 60; looks += 1) {
    const known = new Set(recorded);
    if (wanted.every((referer) => known.has(referer))) break;
    await sleep(500);
    recorded = await read();
  }
  return recorded;
}
