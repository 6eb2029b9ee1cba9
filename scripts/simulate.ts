import { join } from "node:path";
import { buildFunctions } from "../lib/local-convex/bundle.ts";
import { Chance } from "../lib/simulator/chance.ts";
import { simulate } from "../lib/simulator/run.ts";
import { makeSteps } from "../lib/simulator/steps.ts";
const functionsDir = join(import.meta.dirname, "../convex");
const build = await buildFunctions(functionsDir);
const seed = Number(process.argv[2] ?? 1);
const count = Number(process.argv[3] ?? 300);
const t = performance.now();
const outcome = await simulate(seed, makeSteps(new Chance(seed).fork("steps"), count), {
  functionsDir,
  build,
});
const { trace, ...rest } = outcome;
if (process.argv[4]) console.log(trace.slice(-Number(process.argv[4])).join("\n"));
console.log(rest, performance.now() - t);
