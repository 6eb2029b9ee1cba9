/** When a connection is told that the server lives, and when the client counts as dead (facts §5.6). */

export interface HeartbeatTimes {
  /** How often connections are looked at, and probed with a WebSocket ping. */
  probeEveryMs: number;
  /** Clients that hear nothing for a minute connect again. */
  pingAfterMs: number;
  dropAfterMs: number;
}

export const HEARTBEAT: HeartbeatTimes = { probeEveryMs: 5_000, pingAfterMs: 15_000, dropAfterMs: 120_000 };

export function heartbeatOf(
  times: HeartbeatTimes,
  nowMs: number,
  lastSentMs: number,
  lastHeardMs: number,
): "drop" | "ping" | "probe" {
  if (nowMs - lastHeardMs >= times.dropAfterMs) return "drop";
  return nowMs - lastSentMs >= times.pingAfterMs ? "ping" : "probe";
}
