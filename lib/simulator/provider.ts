/**
 * The billing provider of a simulated world. The rules are those of the emulator, whose pure parts do the deciding; here
 * is only what it remembers. Nothing waits, and ids and times come from the world.
 */
import { fileURLToPath } from "node:url";

import { findPlan, readCatalogue, type Catalogue } from "../kinde/emulator/catalogue.ts";
import type { Change } from "../kinde/emulator/changes.ts";
import { placeWrite, type MeterType } from "../kinde/emulator/meter-rules.ts";
import { draftOf, type EventClaims, type Subject } from "../kinde/emulator/webhooks-events.ts";
import { eventTimeText, later, nextEventTime, type EventTime } from "../kinde/emulator/webhooks-times.ts";
import { cycleAt } from "../ledger/cycle.ts";
import type { Chance } from "./chance.ts";

const CATALOGUE_FILE = fileURLToPath(new URL("../kinde/emulator/catalogue.json", import.meta.url));
const MADE_WITHIN_MS = 50;

export interface Customer extends Subject {
  readonly signedUpAtMs: number;
}

export interface ProviderAgreement {
  readonly id: string;
  readonly customerId: string;
  readonly planKey: string;
  readonly startedAtMs: number;
  endedAtMs: number | null;
}

export interface MeterRecord {
  readonly id: string;
  readonly value: string;
  readonly type: MeterType;
  readonly usedAtMs: number;
  readonly madeAtMs: number;
  readonly cycleStartMs: number;
  readonly totalAfterUnits: number | null;
}

export class Provider {
  readonly catalogue: Catalogue = readCatalogue(CATALOGUE_FILE);
  readonly customers: Customer[] = [];
  readonly agreements: ProviderAgreement[] = [];
  private readonly meters = new Map<string, MeterRecord[]>();
  private readonly told = new Set<string>();
  private lastEvent: EventTime | null = null;

  constructor(
    readonly nowMs: () => number,
    private readonly chance: Chance,
    /** Told of every event, in the order in which they happen. */
    private readonly onEvent: (event: EventClaims, subject: Subject) => void,
  ) {}

  id(prefix: string): string {
    const hex = () => this.chance.uint32().toString(16).padStart(8, "0");
    const time = Math.floor(this.nowMs()).toString(16).padStart(12, "0");
    return `${prefix}_${time}${hex()}${hex()}${hex().slice(0, 4)}`;
  }

  /** A customer who signed up then, on the free plan since. */
  signUp(name: string, signedUpAtMs: number): Customer {
    const customer: Customer = {
      userId: this.id("kp"),
      customerId: this.id("customer"),
      email: `${name}@example.com`,
      givenName: name,
      familyName: "Example",
      permissions: [],
      signedUpAtMs,
    };
    this.customers.push(customer);
    this.startAgreement(customer, this.catalogue.signUpPlan);
    return customer;
  }

  current({ customerId }: Pick<Customer, "customerId">): ProviderAgreement | null {
    return this.agreements.findLast((one) => one.customerId === customerId && one.endedAtMs === null) ?? null;
  }

  /** What a plan change does at the emulator: a new agreement takes the place of the old one. */
  startAgreement(customer: Customer, planKey: string): void {
    const { customerId } = customer;
    const before = this.current(customer);
    if (before !== null) before.endedAtMs = Math.floor(this.nowMs());
    const agreementId = this.id("agreement");
    const startedAtMs = Math.floor(this.nowMs());
    this.agreements.push({ id: agreementId, customerId, planKey, startedAtMs, endedAtMs: null });
    const what = { customerId, agreementId, planKey };
    this.tell({ kind: "agreement_created", ...what }, customer);
    if (before === null) this.tell({ kind: "plan_assigned", ...what }, customer);
    else this.tell({ kind: "plan_changed", ...what, oldPlanKey: before.planKey }, customer);
    if ((findPlan(this.catalogue, planKey)?.monthlyPriceCents ?? 0) > 0) this.pay(customer);
    if (before === null) return;
    const ended = { customerId, agreementId: before.id, planKey: before.planKey };
    this.tell({ kind: "agreement_ended", ...ended, replaced: true }, customer);
  }

  pay(customer: Customer): void {
    const { id: agreementId, planKey, customerId } = this.current(customer)!;
    this.tell({ kind: "payment_succeeded", customerId, agreementId, planKey }, customer);
  }

  find(agreementId: string): ProviderAgreement | null {
    return this.agreements.find(({ id }) => id === agreementId) ?? null;
  }

  customerOf(customerId: string): Customer | null {
    return this.customers.find((one) => one.customerId === customerId) ?? null;
  }

  /** Null when it is taken, else why not. */
  write(
    agreement: ProviderAgreement,
    featureKey: string,
    write: { readonly units: number; readonly type: MeterType },
  ): { readonly code: string; readonly message: string } | null {
    const nowMs = Math.floor(this.nowMs());
    if (agreement.endedAtMs !== null && nowMs >= agreement.endedAtMs) {
      return { code: "AGREEMENT_ENDED", message: "the agreement has ended before this usage" };
    }
    const anchorMs = this.customerOf(agreement.customerId)!.signedUpAtMs;
    const liveTotalUnits = this.total(agreement, featureKey);
    const { units: valueUnits, type } = write;
    const placed = placeWrite({ valueUnits, type, usedAtMs: nowMs }, { anchorMs, nowMs, liveTotalUnits });
    if (placed.kind === "refused") return placed;
    this.recordsOf(agreement.id, featureKey).push({
      id: this.id("meter_usage"),
      value: String(valueUnits),
      type,
      usedAtMs: nowMs,
      madeAtMs: nowMs,
      cycleStartMs: placed.cycleStartMs,
      totalAfterUnits: placed.totalAfterUnits,
    });
    return null;
  }

  /** The total of the cycle that it is now. */
  total(agreement: ProviderAgreement, featureKey: string): number {
    return this.totalAt(agreement, featureKey, this.nowMs()) ?? 0;
  }

  /** A total that goes out as the answer to a read. */
  tellTotal(agreement: ProviderAgreement, featureKey: string): number {
    const units = this.total(agreement, featureKey);
    this.told.add(`${agreement.id} ${featureKey} ${units}`);
    return units;
  }

  /** Whether any read of the meter was ever answered with that total. */
  hasTold(agreementId: string, featureKey: string, units: number): boolean {
    return this.told.has(`${agreementId} ${featureKey} ${units}`);
  }

  /** Whether the meter ever stood at that total, which it does at 0 before its first write. */
  hasHad(agreementId: string, featureKey: string, units: number): boolean {
    const records = this.recordsOf(agreementId, featureKey);
    return units === 0 || records.some(({ totalAfterUnits }) => totalAfterUnits === units);
  }

  /** The total of the cycle of an instant; null when nothing was ever written in it. */
  totalAt(agreement: ProviderAgreement, featureKey: string, atMs: number): number | null {
    const { startMs } = cycleAt(this.customerOf(agreement.customerId)!.signedUpAtMs, atMs);
    const mine = this.recordsOf(agreement.id, featureKey).filter((record) => record.cycleStartMs === startMs);
    return mine.at(-1)?.totalAfterUnits ?? null;
  }

  /** The one trouble that no report of ours can know of. */
  isWrittenByOthers(agreementId: string, featureKey: string): boolean {
    return this.recordsOf(agreementId, featureKey).some(({ type }) => type === "delta");
  }

  recordsOf(agreementId: string, featureKey: string): MeterRecord[] {
    const name = `${agreementId} ${featureKey}`;
    let records = this.meters.get(name);
    if (records === undefined) this.meters.set(name, (records = []));
    return records;
  }

  private tell(change: Change, customer: Customer): void {
    const draft = draftOf(change, customer, this.catalogue);
    const happened = nextEventTime(Math.floor(this.nowMs()), this.lastEvent, () => this.chance.share());
    const time = later(happened, { ms: draft.afterMs, ns: 0 });
    this.lastEvent = time;
    const madeAt = later(time, { ms: this.chance.below(MADE_WITHIN_MS), ns: 1 });
    const event: EventClaims = {
      type: draft.type,
      event_id: this.id("event"),
      timestamp: eventTimeText(madeAt),
      event_timestamp: eventTimeText(time),
      source: "user",
      data: draft.data,
    };
    this.onEvent(event, customer);
  }
}
