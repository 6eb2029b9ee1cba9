"use client";

import { useAction, useMutation } from "convex/react";
import type { FunctionArgs, FunctionReturnType } from "convex/server";
import { api } from "../../../convex/_generated/api";
import { runAdmission } from "../../../lib/gate/admission-loop.ts";

export type AdmissionArgs = FunctionArgs<typeof api.gate.admit>;
type ExtensionArgs = FunctionArgs<typeof api.gate.extend>;
type Decided<Answer> = Exclude<Answer, { kind: "refresh_needed" | "refresh_pending" }>;
export type Admission = Decided<FunctionReturnType<typeof api.gate.admit>>;
type Extension = Decided<FunctionReturnType<typeof api.gate.extend>>;

/** Admissions and extensions, each run to a decision: the limit is read on the way when it is too old. */
export function useAdmission() {
  const admit = useMutation(api.gate.admit);
  const extend = useMutation(api.gate.extend);
  const refresh = useAction(api.limits.refresh);
  const ports = {
    refresh: (refreshLease: string) => refresh({ refreshLease }),
    sleep: (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms)),
    nowMs: Date.now,
  };
  return {
    admit: async (args: AdmissionArgs) =>
      (await runAdmission({ ...ports, attempt: () => admit(args) })) as Admission,
    extend: async (args: ExtensionArgs) =>
      (await runAdmission({ ...ports, attempt: () => extend(args) })) as Extension,
  };
}
