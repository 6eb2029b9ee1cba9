// What the client sent and what it was told: the other half of the comparison. Kept by the process that is never killed.

/** A job as an answer shows it. */
export interface JobView {
  readonly id: string;
  readonly key: string;
  readonly status: string;
  readonly heldUnits: number;
  readonly usedUnits: number;
  readonly step: number;
  readonly fence: number;
}

export interface JobNote {
  readonly accountId: string;
  readonly key: string;
  readonly units: number;
  /** The first answer of the admission; null while none came. */
  admitted: JobView | null;
  /** The gate said no, and nothing may be held. */
  refused: boolean;
  /** In the order of their numbers. The same step is sent again until it is answered. */
  readonly steps: { readonly step: number; readonly units: number; chargedUnits: number | null }[];
  /** Each was sent once, and not refused: an extension has no key under which it could be repeated. */
  readonly extensions: { readonly units: number; readonly answered: boolean }[];
  /** What a settle asked for, once it was sent. */
  settle: { readonly outcome: string; readonly usedUnits: number | null } | null;
  /** The first answer that showed the job as ended. */
  ended: JobView | null;
}

/** A click, an event or a change of plan is noted when it was sent, or may have been. */
export interface ClickNote {
  readonly accountId: string;
  /** Names the click in the ledger, where its key is the server's own. */
  readonly referrer: string;
  readonly answered: boolean;
}

export interface EventNote {
  readonly userId: string;
  readonly type: string;
  /** Told by the provider when it had taken the event; null when no answer came. */
  readonly eventId: string | null;
}

export interface PlanNote {
  readonly userId: string;
  readonly planKey: string;
  readonly answered: boolean;
}

export interface Journal {
  readonly jobs: JobNote[];
  readonly clicks: ClickNote[];
  readonly events: EventNote[];
  readonly plans: PlanNote[];
  /** Operator calls that were answered 200, by name. */
  readonly calls: Map<string, number>;
  /** Answers that fit nothing that may happen; each is a fault. */
  readonly strange: string[];
}

export function emptyJournal(): Journal {
  return { jobs: [], clicks: [], events: [], plans: [], calls: new Map(), strange: [] };
}

/** What an answer shows of a job; null when it shows none. */
export function jobIn(body: Record<string, unknown> | null): JobView | null {
  const job = body?.["job"];
  return typeof job === "object" && job !== null && "id" in job ? (job as JobView) : null;
}
