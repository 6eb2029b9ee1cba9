/** Calls in one transaction: enough that its own cost is shared, few enough that it stays far from Convex's limits. */
export const GATE_BATCH_MAX = 32;
