/** One process of several that share the seeds: it is sent one, runs it, and sends what became of it. */
import { builtFunctions, runSeed } from "./seed-runs.ts";

const steps = Number(process.argv[2]);
const functions = builtFunctions();

process.on("message", (seed: number) => {
  void functions
    .then((built) => runSeed(seed, steps, built))
    .then(
      (summary) => process.send?.(summary),
      (error: unknown) => {
        console.error(error);
        process.exit(1);
      },
    );
});
