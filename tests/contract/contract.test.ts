import { describe, test } from "vitest";

import { calls } from "./calls.scenarios.ts";
import { documents } from "./documents.scenarios.ts";
import { engines, type EngineName } from "./engines.ts";
import { exceptions } from "./exceptions.ts";
import { guards } from "./guards.scenarios.ts";
import { http } from "./http.scenarios.ts";
import { identity } from "./identity.scenarios.ts";
import { jobs } from "./jobs.scenarios.ts";
import { reads } from "./reads.scenarios.ts";

const topics = { documents, reads, calls, jobs, guards, identity, http };

for (const [engineName, open] of Object.entries(engines)) {
  describe(engineName, () => {
    for (const [topic, scenarios] of Object.entries(topics)) {
      describe(topic, () => {
        for (const scenario of scenarios) {
          const known = exceptions.find(
            (each) => each.scenario === scenario.name && each.engine === (engineName as EngineName),
          );
          const title = known === undefined ? scenario.name : `${scenario.name} [differs: ${known.why}]`;
          test(title, { fails: known !== undefined }, async () => {
            const engine = await open();
            try {
              await scenario.run(engine);
            } finally {
              await engine.close();
            }
          });
        }
      });
    }
  });
}
