// `npm run evidence`: gathers the saved results of benches, simulator, mutants, chaos and soak for the page "How we know".
import { writeFileSync } from "node:fs";
import { helpText, parseOptions, runMain } from "./support/cli.mjs";
import { collectEvidence, EVIDENCE_FILE } from "./support/evidence.ts";

const USAGE = `npm run evidence: gathers what the tools have saved (--save) into the page "How we know".`;

await runMain("evidence", (argv) => {
  if (parseOptions({}, argv).help) {
    console.log(helpText(USAGE, {}));
    return Promise.resolve(0);
  }
  writeFileSync(EVIDENCE_FILE, `${JSON.stringify(collectEvidence(), null, 2)}\n`);
  console.log(`written: ${EVIDENCE_FILE}`);
  return Promise.resolve(0);
});
