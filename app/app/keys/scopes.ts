import type { Scope } from "../../../convex/validators.ts";

/** What a key may do, and how that is told. */
export const SCOPES: readonly { readonly scope: Scope; readonly about: string }[] = [
  { scope: "jobs:write", about: "start, charge and settle jobs" },
  { scope: "jobs:read", about: "read jobs and estimates" },
  { scope: "usage:read", about: "read usage and entries" },
  { scope: "links:write", about: "make, change and delete links" },
  { scope: "links:read", about: "read links and their clicks" },
  { scope: "events:replay", about: "read billing events and replay them" },
  { scope: "reminders:write", about: "make, list and cancel reminders" },
];
