/** What each saved result is about, in the order of the page. */
export const ABOUT = [
  {
    id: "simulate",
    title: "Simulated",
    about:
      "The real functions run on the local engine against a model of the billing provider, on a virtual clock, while conflicts, crashes, lost answers, late writes, refused calls, doubled webhooks and clock steps happen at random. Every invariant is checked after every commit. A seed repeats its run exactly.",
  },
  {
    id: "mutants",
    title: "Tests that notice",
    about:
      "Each rule of the gate, the ledger, the inbox and the access checks is broken in a copy, one at a time. A test or the simulator has to fail.",
  },
  {
    id: "chaos",
    title: "Killed",
    about:
      "The processes of the real stack are killed with SIGKILL at random instants under jobs, clicks, webhooks and reports, and started again. Whatever was answered has to be there once; what got no answer may be there once or not at all.",
  },
  {
    id: "soak",
    title: "Run for long",
    about:
      "Months of the product's own time on the real stack: memory, files and tables are measured, and what is kept for a time only has to go in time.",
  },
  {
    id: "bench:doors",
    title: "Speed of the gate through HTTP",
    about:
      "The web server of npm start answers the API itself; everything else goes to Next.js. Both, and a bare Next.js route that answers a constant 302, are asked by the same client, 50 requests at a time. Writes of one key that come while another is on its way travel as one transaction.",
  },
  {
    id: "bench:redirect",
    title: "Speed of short links",
    about:
      "Redirects through the web server beside the bare Next.js route. In the end every click that was answered is a row.",
  },
  {
    id: "bench:gate",
    title: "Speed of the gate in the engine",
    about: "Durable admissions a second, beside PostgreSQL with one budget row on the same machine.",
  },
  {
    id: "bench:conflicts",
    title: "Conflicts",
    about:
      "Fifty callers on the engine with a millisecond to each read and write: how often a transaction loses and runs again, on one account and on many, with one shard and with 64, single and batched, and from how many callers on somebody hears busy.",
  },
  {
    id: "bench:engine",
    title: "The local engine",
    about: "Reads, ranges and inserts with a thousand, a hundred thousand and a million rows.",
  },
  {
    id: "bench:reconcile",
    title: "Reconciliation",
    about: "Time and memory to prove a meter against its rows.",
  },
  {
    id: "bench:inbox",
    title: "Webhooks",
    about: "Deliveries verified, stored and answered, also beside a flood signed with unknown keys.",
  },
] as const;
