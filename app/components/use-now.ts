"use client";

import { useEffect, useState } from "react";

/** The reader's clock, once a second, for ages and countdowns. Null before hydration. */
export function useNow(): number | null {
  const [nowMs, setNowMs] = useState<number | null>(null);
  useEffect(() => {
    const tick = () => setNowMs(Date.now());
    tick();
    const timer = setInterval(tick, 1000);
    return () => clearInterval(timer);
  }, []);
  return nowMs;
}
