// `npm run codegen`: writes convex/_generated, offline. With --check: fails when what is committed is not what the
// sources generate, and changes nothing.
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CliError, helpText, parseOptions, runMain } from "./support/cli.mjs";
import { ROOT } from "./support/root.ts";

const OPTIONS = {
  check: { type: "boolean", help: "compare instead of writing; exit 1 when convex/_generated is stale" },
} as const;

/** The Convex command needs a deployment for what it calls codegen; this hidden flag works from the files alone. */
const COMMAND = ["codegen", "--system-udfs", "--typecheck", "disable"];
const GENERATED = "convex/_generated";

await runMain("codegen", async (argv) => {
  const options = parseOptions(OPTIONS, argv);
  if (options.help) {
    console.log(helpText("npm run codegen -- [options]: generates convex/_generated", OPTIONS));
    return 0;
  }
  if (!options.check) {
    generate(ROOT);
    return 0;
  }
  const stale = staleFiles();
  for (const file of stale) console.error(`${GENERATED}/${file} is stale; run: npm run codegen`);
  return stale.length === 0 ? 0 : 1;
});

function generate(folder: string): void {
  const cli = join(ROOT, "node_modules/convex/bin/main.js");
  const { status, stderr, error } = spawnSync(process.execPath, [cli, ...COMMAND], {
    cwd: folder,
    encoding: "utf8",
    env: { ...process.env, CONVEX_DEPLOYMENT: undefined },
  });
  if (status !== 0) throw new CliError(`convex codegen failed: ${error?.message ?? stderr.trim()}`);
}

/** Generates into a copy and names the files that differ from what is here. */
function staleFiles(): string[] {
  const copy = mkdtempSync(join(tmpdir(), "holdfast-codegen-"));
  try {
    for (const path of ["convex", "lib", "package.json", "tsconfig.json", "convex.json"]) {
      if (existsSync(join(ROOT, path))) cpSync(join(ROOT, path), join(copy, path), { recursive: true });
    }
    symlinkSync(join(ROOT, "node_modules"), join(copy, "node_modules"), "dir");
    rmSync(join(copy, GENERATED), { recursive: true, force: true });
    generate(copy);
    const fresh = contents(join(copy, GENERATED));
    const here = contents(join(ROOT, GENERATED));
    const names = new Set([...fresh.keys(), ...here.keys()]);
    return [...names].filter((name) => fresh.get(name) !== here.get(name)).toSorted();
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

function contents(folder: string): Map<string, string> {
  if (!existsSync(folder)) return new Map();
  const names = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  );
  return new Map(
    names.map((entry) => {
      const path = join(entry.parentPath, entry.name);
      return [path.slice(folder.length + 1), readFileSync(path, "utf8")];
    }),
  );
}
