"use client";

import { useCallback, useEffect, useState } from "react";
import type { ActiveFault } from "../../../lib/server/emulator-control.ts";
import { toast } from "../../components/toast.tsx";

const PATH = "/ops/faults/control";

export interface Faults {
  /** Undefined until they are known. */
  readonly faults: readonly ActiveFault[] | undefined;
  readonly isUnreachable: boolean;
  readonly refresh: () => Promise<void>;
  readonly switchOn: (offer: string, span: string) => Promise<void>;
  readonly switchOff: (id: string | null) => Promise<void>;
}

/**
 * The faults that are on. They live in the emulator and not in the database, so they are asked for: when the screen
 * opens, when somebody comes back to it, and with each act.
 */
export function useFaults(): Faults {
  const [faults, setFaults] = useState<readonly ActiveFault[]>();
  const [isUnreachable, setIsUnreachable] = useState(false);

  const call = useCallback(async (method: string, query = "", body?: object): Promise<boolean> => {
    const said = body === undefined ? {} : { body: JSON.stringify(body) };
    const response = await fetch(`${PATH}${query}`, { method, cache: "no-store", ...said }).catch(() => null);
    setIsUnreachable(response?.ok !== true);
    if (response?.ok !== true) return false;
    setFaults(((await response.json()) as { faults: readonly ActiveFault[] }).faults);
    return true;
  }, []);

  const refresh = useCallback(async () => {
    await call("GET");
  }, [call]);

  useEffect(() => {
    void refresh();
    const onShow = () => {
      if (document.visibilityState === "visible") void refresh();
    };
    document.addEventListener("visibilitychange", onShow);
    return () => document.removeEventListener("visibilitychange", onShow);
  }, [refresh]);

  return {
    faults,
    isUnreachable,
    refresh,
    async switchOn(offer, span) {
      if (!(await call("POST", "", { offer, span }))) {
        toast.failed("The fault was not switched on", "The stand-in for Kinde did not take it.");
      }
    },
    async switchOff(id) {
      if (!(await call("DELETE", id === null ? "" : `?id=${encodeURIComponent(id)}`))) {
        toast.failed("Nothing was switched off", "The stand-in for Kinde did not answer.");
      }
    },
  };
}
