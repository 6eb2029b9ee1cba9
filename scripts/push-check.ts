// `npm run push-check`: would a real Convex deployment take convex/? Bundles it as the official command does and names
// every file that it would refuse. Needs no deployment and no network.
import { checkPush } from "../lib/local-convex/push-check/check.ts";
import { helpText, parseOptions, runMain } from "./support/cli.mjs";

const OPTIONS = {
  functions: { type: "string", default: "convex", help: "the functions folder" },
} as const;

await runMain("push-check", async (argv) => {
  const options = parseOptions(OPTIONS, argv);
  if (options.help) {
    console.log(
      helpText("npm run push-check -- [options]: checks what `npx convex deploy` would refuse", OPTIONS),
    );
    return 0;
  }
  const { faults, moduleCount, authConfigVariables } = await checkPush(options.functions);
  for (const { file, what, why } of faults) console.error(`${file} ${what}. ${why}`);
  if (faults.length > 0) return 1;
  console.log(`${options.functions}: ${moduleCount} modules, nothing that a push would refuse`);
  if (authConfigVariables.length > 0) {
    console.log(`auth.config needs these variables on the deployment: ${authConfigVariables.join(", ")}`);
  }
  return 0;
});
