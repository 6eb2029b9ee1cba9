/**
 * Sends what is due, and sleeps until something is. Everything it goes by is on disk; in memory is only what is on its
 * way. An attempt that a kill keeps from being recorded is made again: at least once.
 */
import { setMaxListeners } from "node:events";
import { MINUTE_MS, HOUR_MS } from "../../shared/durations.ts";
import type { Emulator } from "./context.ts";
import { WEBHOOK_ATTEMPT_FAULTS, WEBHOOK_WAY_FAULTS, type WebhookAttemptFault } from "./fault-kinds.ts";
import type { Faults } from "./faults.ts";
import { purgeOld } from "./purge.ts";
import { signBody } from "./webhooks-signing.ts";
import {
  dueDeliveries,
  holdBack,
  nextDueAfter,
  recordAttempts,
  type Attempt,
  type Delivery,
} from "./webhooks-deliveries.ts";
import { listEndpoints, type Endpoint } from "./webhooks-endpoints.ts";
import { postWebhook, type PostOutcome } from "./webhooks-post.ts";

/** Deliveries on their way to one endpoint. Each endpoint has its own, so that a slow one holds up no other. */
const IN_FLIGHT_MAX = 8;

/** The longest sleep: the wall clock may be set, and a new pace may come. */
const SLEEP_MS_MAX = MINUTE_MS;

const PURGE_EVERY_MS = HOUR_MS;

export class WebhookSender {
  /** Ids of deliveries on their way, by endpoint. */
  private readonly inFlight = new Map<string, Set<string>>();
  private readonly stopping = new AbortController();
  private timer: NodeJS.Timeout | null = null;
  private isWoken = false;
  private purgedAtMs = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly emulator: Emulator,
    private readonly faults: Faults,
    private readonly report: (error: unknown) => void,
  ) {
    // Each delivery on its way listens to it.
    setMaxListeners(0, this.stopping.signal);
  }

  /** Looks for work, soon. To be called after whatever may have made some. */
  wake(): void {
    if (this.isWoken || this.stopping.signal.aborted) return;
    this.isWoken = true;
    setImmediate(() => {
      this.isWoken = false;
      if (this.stopping.signal.aborted) return;
      try {
        this.work();
      } catch (error) {
        this.report(error);
      }
    });
  }

  /** Cuts what is on its way; it counts as not sent. */
  stop(): void {
    if (this.timer !== null) clearTimeout(this.timer);
    this.stopping.abort();
  }

  isSending({ endpointId, id }: Delivery): boolean {
    return this.inFlight.get(endpointId)?.has(id) ?? false;
  }

  private work(): void {
    const { emulator } = this;
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
    this.purgeWhenDue();
    const nowClockMs = emulator.deliveryClock.nowMs();
    let nextClockMs = Number.POSITIVE_INFINITY;
    for (const endpoint of listEndpoints(emulator)) {
      if (endpoint.disabledAtMs !== null) continue;
      this.sendDue(endpoint, nowClockMs);
      nextClockMs = Math.min(nextClockMs, nextDueAfter(emulator, endpoint.id, nowClockMs) ?? nextClockMs);
    }
    if (nextClockMs === Number.POSITIVE_INFINITY) return;
    const sleepMs = Math.ceil(emulator.deliveryClock.realMsUntil(nextClockMs));
    this.timer = setTimeout(() => this.wake(), Math.min(Math.max(sleepMs, 1), SLEEP_MS_MAX));
  }

  private sendDue(endpoint: Endpoint, nowClockMs: number): void {
    const busy = this.inFlight.get(endpoint.id) ?? new Set();
    this.inFlight.set(endpoint.id, busy);
    const due = dueDeliveries(this.emulator, endpoint.id, {
      byClockMs: nowClockMs,
      limit: busy.size + IN_FLIGHT_MAX,
    });
    for (const delivery of due) {
      if (busy.size >= IN_FLIGHT_MAX) return;
      if (busy.has(delivery.id)) continue;
      if (this.isHeldBack(endpoint, delivery)) {
        this.wake();
        continue;
      }
      busy.add(delivery.id);
      this.attempt(endpoint, delivery).then(
        () => {
          busy.delete(delivery.id);
          this.wake();
        },
        // It stays marked as on its way: to try again what fails in here would fail for ever.
        this.report,
      );
    }
  }

  /** Asks the faults of the way, once for each delivery. */
  private isHeldBack({ url }: Endpoint, { id, faults, attemptsMade, claims }: Delivery): boolean {
    if (faults !== null || attemptsMade > 0) return false;
    const { emulator } = this;
    const webhook = { path: new URL(url).pathname, type: claims.type };
    const struck = this.faults.strikeWebhook(WEBHOOK_WAY_FAULTS, webhook, emulator.wallNowMs());
    if (struck.length === 0) return false;
    const waitsMs = struck.map(({ fault, settings: { delayMs }, share }) =>
      fault === "webhook_delay" ? delayMs : fault === "webhook_reorder" ? Math.floor(share * delayMs) : 0,
    );
    holdBack(emulator, id, {
      faults: struck.map(({ fault }) => fault),
      isLost: struck.some(({ fault }) => fault === "webhook_loss"),
      waitMs: Math.max(...waitsMs),
    });
    return true;
  }

  private async attempt(endpoint: Endpoint, delivery: Delivery): Promise<void> {
    const { emulator } = this;
    const atMs = emulator.wallNowMs();
    const webhook = { path: new URL(endpoint.url).pathname, type: delivery.claims.type };
    const struck = this.faults.strikeWebhook(WEBHOOK_ATTEMPT_FAULTS, webhook, atMs);
    const names = new Set(struck.map(({ fault }) => fault));
    let copies = 0;
    for (const { fault, settings } of struck) {
      if (fault === "webhook_key_rotation") emulator.keys.rotate(atMs, { retireOld: settings.retireOld });
      if (fault === "webhook_duplicate") copies += settings.copies;
    }
    const sends = Array.from({ length: 1 + copies }, () => this.send(endpoint, delivery, names));
    const attempts = await Promise.all(sends);
    if (this.stopping.signal.aborted) return;
    emulator.storage.transaction(() => recordAttempts(emulator, delivery, attempts));
  }

  private async send(
    endpoint: Endpoint,
    { id, claims }: Delivery,
    faults: ReadonlySet<WebhookAttemptFault>,
  ): Promise<Attempt> {
    const { emulator } = this;
    const atMs = emulator.wallNowMs();
    const outcome: PostOutcome = faults.has("webhook_outage")
      ? { kind: "failed", failure: "unreachable" }
      : await postWebhook(endpoint.url, {
          token: signBody(emulator, claims, faults),
          webhookId: id,
          timeoutMs: emulator.config.webhookTimeoutMs,
          signal: this.stopping.signal,
        });
    return {
      atMs,
      durationMs: emulator.wallNowMs() - atMs,
      status: outcome.kind === "answered" ? outcome.status : null,
      failure: outcome.kind === "answered" ? null : outcome.failure,
      faults: [...faults],
    };
  }

  private purgeWhenDue(): void {
    const { emulator } = this;
    const nowMs = emulator.wallNowMs();
    if (nowMs - this.purgedAtMs < PURGE_EVERY_MS) return;
    this.purgedAtMs = nowMs;
    emulator.storage.transaction(() => purgeOld(emulator));
  }
}
