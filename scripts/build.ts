// `npm run build`: the production build of the app, marked with the hash of its sources so that `npm start` finds it.
import { ensureBuilt } from "./support/build.ts";
import { Children } from "./support/children.ts";
import { helpText, parseOptions, runMain } from "./support/cli.mjs";
import { ROOT } from "./support/root.ts";

const OPTIONS = {
  "if-needed": { type: "boolean", help: "only when the sources have changed since the last build" },
} as const;

await runMain("build", async (argv) => {
  const options = parseOptions(OPTIONS, argv);
  if (options.help) {
    console.log(helpText("npm run build -- [options]: builds the app for `npm start`", OPTIONS));
    return 0;
  }
  const children = new Children(ROOT);
  process.once("SIGINT", () => void children.stopAll());
  process.once("SIGTERM", () => void children.stopAll());
  await ensureBuilt(ROOT, children, { force: !options["if-needed"] });
  return children.stopping ? 130 : 0;
});
