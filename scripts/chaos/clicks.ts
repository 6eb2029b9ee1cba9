// Clicks on short links. A 302 promises one row of the ledger: the click was handed to the kernel for the spool file
// before the answer went out (lib/server/redirect/spool.ts), and SIGKILL takes nothing from the kernel. A loss of power
// does, which is what --spool-fsync is for; no kill here can show that. A click is sent once: a second one counts too.
import { randomBytes } from "node:crypto";
import type { Chance } from "../../lib/simulator/chance.ts";
import { type Customer, type Load, pause } from "./client.ts";

const PAUSE_MS_MAX = 100;
/** While nobody answers, a visitor is not there as often. */
const PAUSE_WHILE_DOWN_MS = 200;

/** As a browser sends it: agents of tools count as bots. */
const BROWSER = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0";

export async function followLinks(load: Load, chance: Chance, lane: number, customers: readonly Customer[]) {
  // The clicks of one run are told apart by where they come from.
  const prefix = `https://chaos.example/${randomBytes(4).toString("hex")}/${lane}/`;
  for (let number = 1; !load.stopping.aborted; number++) {
    const { accountId, linkUrl } = chance.pick(customers);
    const referrer = `${prefix}${number}`;
    const headers = { referer: referrer, "user-agent": BROWSER, accept: "text/html" };
    const reply = await load.wire.send({ method: "GET", url: linkUrl, headers });
    const answered = reply.kind === "answered" && reply.status === 302;
    if (reply.kind !== "not_sent") load.journal.clicks.push({ accountId, referrer, answered });
    if (reply.kind === "answered" && ![302, 503].includes(reply.status)) {
      load.journal.strange.push(`${referrer}: the click was answered ${reply.status}`);
    }
    await pause(load, answered ? chance.below(PAUSE_MS_MAX) : PAUSE_WHILE_DOWN_MS);
  }
}
