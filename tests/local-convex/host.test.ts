import { expect, test, vi } from "vitest";

import { CPU_SAMPLE_MS, systemHost } from "../../lib/local-convex/host.ts";

test("what is asked at every call asks the system for the processor's time now and then only", () => {
  const asked = vi.spyOn(process, "cpuUsage");
  const clock = vi.spyOn(performance, "now").mockReturnValue(10_000_000);
  try {
    const first = systemHost.recentCpuMs();
    for (let calls = 0; calls < 1_000; calls += 1) expect(systemHost.recentCpuMs()).toBe(first);
    expect(asked).toHaveBeenCalledTimes(1);
    clock.mockReturnValue(10_000_000 + CPU_SAMPLE_MS);
    systemHost.recentCpuMs();
    systemHost.cpuMs();
    systemHost.cpuMs();
    expect(asked).toHaveBeenCalledTimes(4);
  } finally {
    asked.mockRestore();
    clock.mockRestore();
  }
});
