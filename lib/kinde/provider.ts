import type { LimitProvider, MeterFailure, MeterRef, NoMeter } from "../gate/provider.ts";
import type { KindeClient } from "./client.ts";
import { totalOfCycle } from "./cycle-total.ts";
import { type EntitlementsRead, limitOf } from "./entitlements.ts";
import type { Failure } from "./failure.ts";

export interface KindeProviderPorts {
  /** The billing customer of an account; null while none is known. */
  readonly customerIdOf: (accountId: string) => Promise<string | null>;
}

/**
 * Limits and meters at Kinde. The name of a feature is its Key there.
 *
 * A customer without an entitlement to the feature has a limit of 0. Kinde answered, so this is no outage, during
 * which the last limit would go on serving; and it does not stand in the way of a request itself, so whatever is let
 * through here is given away. Unlimited is said by an entitlement without a maximum, never by its absence.
 */
export function kindeProvider(client: KindeClient, { customerIdOf }: KindeProviderPorts): LimitProvider {
  return {
    async readLimit(accountId, feature) {
      const customerId = await customerIdOf(accountId);
      if (customerId === null) return { kind: "failed", reason: "the account has no Kinde customer yet" };
      const answer = await client.readEntitlements({ customerId });
      if (answer.kind === "failed") return { kind: "failed", reason: answer.message };
      const limit = limitOf(answer.entitlements, feature);
      return {
        kind: "read",
        limitUnits: limit.kind === "none" ? 0 : limit.limitUnits,
        ...summarize(answer.plans),
      };
    },

    async setTotal(meter, totalUnits, startBeforeMs) {
      const { agreementId, feature: featureKey } = meter;
      if (agreementId === null) return noAgreement(meter);
      const answer = await client.writeMeter({ agreementId, featureKey, totalUnits, startBeforeMs });
      return answer.kind === "failed" ? meterFailure(answer) : { kind: "set" };
    },

    async readTotal(meter) {
      const { agreementId, feature: featureKey } = meter;
      if (agreementId === null) return noAgreement(meter);
      const answer = await client.readMeter({ agreementId, featureKey });
      if (answer.kind === "failed") return meterFailure(answer);
      return { kind: "read", totalUnits: answer.totalUnits };
    },

    async readClosedTotal(meter) {
      const { agreementId, feature: featureKey, cycleStartMs } = meter;
      if (agreementId === null) return noAgreement(meter);
      const answer = await client.readMeter({ agreementId, featureKey, allCycles: true });
      if (answer.kind === "failed") return meterFailure(answer);
      const total = totalOfCycle(answer, cycleStartMs);
      return total.kind === "total"
        ? { kind: "read", totalUnits: total.totalUnits }
        : { kind: "untold", reason: total.reason };
    },
  };
}

/** The newest plan is the one in force, the oldest start is where the cycles begin. */
function summarize(plans: EntitlementsRead["plans"]): {
  planKey: string | null;
  subscribedAtMs: number | null;
} {
  const byStart = plans.toSorted((a, b) => (a.subscribedAtMs ?? 0) - (b.subscribedAtMs ?? 0));
  const starts = byStart.flatMap(({ subscribedAtMs }) => (subscribedAtMs === null ? [] : [subscribedAtMs]));
  return { planKey: byStart.at(-1)?.key ?? null, subscribedAtMs: starts[0] ?? null };
}

function noAgreement({ feature }: MeterRef): NoMeter {
  return { kind: "no_meter", reason: `the account has no agreement to meter ${feature} under` };
}

function meterFailure({ code, message, retryAfterMs, committed }: Failure): MeterFailure {
  const isRefused = code === "rejected" || code === "not_found";
  return { kind: "failed", reason: message, retryAfterMs, committed, isRefused };
}
