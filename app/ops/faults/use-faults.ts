"use client";

import { useEffect, useState } from "react";
import type { FaultsState } from "../../../lib/server/emulator-control.ts";
import { toast } from "../../components/toast.tsx";

const PATH = "/ops/faults/control";

export interface Faults {
  /** Undefined until it is known. */
  readonly state: FaultsState | undefined;
  readonly isUnreachable: boolean;
  readonly refresh: () => Promise<void>;
  readonly switchOn: (offer: string, span: string) => Promise<void>;
  readonly switchOff: (id: string | null) => Promise<void>;
}

interface Known {
  readonly state: FaultsState | undefined;
  readonly isUnreachable: boolean;
}

/**
 * The faults that are on, and what has struck. They live in the emulator and not in the database, so they are asked for: when the screen
 * opens, when somebody comes back to it, and with each act.
 */
export function useFaults(): Faults {
  const [known, setKnown] = useState<Known>({ state: undefined, isUnreachable: false });

  useEffect(() => {
    const look = () => void ask("GET").then((answer) => setKnown((before) => after(before, answer)));
    const onShow = () => {
      if (document.visibilityState === "visible") look();
    };
    look();
    document.addEventListener("visibilitychange", onShow);
    return () => document.removeEventListener("visibilitychange", onShow);
  }, []);

  async function act(method: string, query?: string, body?: object): Promise<boolean> {
    const answer = await ask(method, query, body);
    setKnown((before) => after(before, answer));
    return answer !== null;
  }

  return {
    ...known,
    async refresh() {
      await act("GET");
    },
    async switchOn(offer, span) {
      if (!(await act("POST", "", { offer, span }))) {
        toast.failed("The fault was not switched on", "The stand-in for Kinde did not take it.");
      }
    },
    async switchOff(id) {
      if (!(await act("DELETE", id === null ? "" : `?id=${encodeURIComponent(id)}`))) {
        toast.failed("Nothing was switched off", "The stand-in for Kinde did not answer.");
      }
    },
  };
}

/** How things are after the call; null when there was no answer that counts. */
async function ask(method: string, query = "", body?: object): Promise<FaultsState | null> {
  const said = body === undefined ? {} : { body: JSON.stringify(body) };
  try {
    const response = await fetch(`${PATH}${query}`, { method, cache: "no-store", ...said });
    return response.ok ? ((await response.json()) as FaultsState) : null;
  } catch {
    return null;
  }
}

/** What was known stays on the screen while nobody answers. */
function after(before: Known, answer: FaultsState | null): Known {
  return answer === null ? { ...before, isUnreachable: true } : { state: answer, isUnreachable: false };
}
