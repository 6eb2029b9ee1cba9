import type { Exception } from "./scenario.ts";

/** What convex-test is known to answer differently from real Convex, with the fact behind it. */
const MOCK_DIFFERENCES: Record<string, string> = {
  "field names with a leading underscore are refused":
    "facts 2.1: such names are for system fields; the mock stores them",
  "documents may be nested 16 deep, not 17": "facts 3.5: nesting limit; the mock checks only the size",
  "an array longer than 8192 is refused": "facts 3.5: array limit; the mock checks only the size",
  'the filter "negated" keeps what it should': "facts 1.3: $neg is an expression; the mock has none",
  "an exactly full last page is not known to be the last":
    "facts 1.4: isDone only when the end was reached; the mock knows it at once",
  "a page of no rows is refused": "facts 1.4: numItems 0 is an error; the mock answers an empty page",
  "a cursor of another query is refused as InvalidCursor":
    "facts 1.4: cursors carry a fingerprint of their query; the mock's do not",
  "the data of a ConvexError in a nested mutation can be read by its caller":
    "facts 3.2: the caller catches a ConvexError with the same data; the mock loses it",
  "a client cannot call an internal function":
    "facts 1.5: clients reach public functions only; the mock's calls come from inside",
  "a job that has ended says when": "facts 3.6: completedTime is set; the mock sets it for failed jobs only",
  "the job document names the function by its canonical path":
    "facts 3.6: the name has .js; the mock keeps what was written",
  "cancelling a job that has ended changes nothing":
    "facts 3.6: a finished job stays as it is; the mock makes it canceled",
  "a refused fetch or timer points to actions in Convex's own words":
    "facts 3.4: the text of the error; the mock has its own",
  "the text of a 404 is Convex's": "facts 4: No matching routes found; the mock names the path",
  "HEAD runs what is routed for GET and has no body":
    "facts 1.5: HEAD is treated as GET and answered without a body; the mock hands out the body",
};

/** Where an engine is known to differ. A scenario listed here must fail on that engine, so no entry grows stale. */
export const exceptions: Exception[] = Object.entries(MOCK_DIFFERENCES).map(([scenario, why]) => ({
  scenario,
  engine: "convex-test",
  why,
}));
