// `npm run restore -- --from FOLDER`: puts a backup in the place of a data directory. The next start audits it.
import { chmodSync, copyFileSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { lockOwner } from "../lib/shared/file-lock.ts";
import { checkBackup } from "./support/backup-files.ts";
import { CliError, helpText, parseOptions, runMain, usageError } from "./support/cli.mjs";

const OPTIONS = {
  from: { type: "string", help: "a folder that npm run backup made" },
  "data-dir": { type: "string", default: ".holdfast", help: "the data directory to put it in" },
  replace: { type: "boolean", help: "move what is in the data directory aside first" },
} as const;

const USAGE = `npm run restore -- --from FOLDER [options]: puts a backup in the place of a data directory.
The stack has to be stopped. Every file is compared with the manifest before anything is touched, and what was there is
kept under another name. The next npm start audits the budgets and tells what it repaired.`;

await runMain("restore", async (argv) => {
  const options = parseOptions(OPTIONS, argv);
  if (options.help) {
    console.log(helpText(USAGE, OPTIONS));
    return 0;
  }
  if (options.from === undefined) throw usageError("--from is missing: a folder that npm run backup made");
  const from = resolve(options.from);
  const dataDir = resolve(options["data-dir"]);
  const owner = lockOwner(join(dataDir, "supervisor.lock"));
  if (owner !== null) throw new CliError(`a stack runs on ${dataDir} (process ${owner.pid}); stop it first`);
  const manifest = await checkBackup(from);
  const isEmpty = !existsSync(dataDir) || readdirSync(dataDir).length === 0;
  if (!isEmpty && !options.replace) {
    throw new CliError(`${dataDir} is not empty; choose another --data-dir, or --replace to move it aside`);
  }

  const draft = `${dataDir}.restoring`;
  rmSync(draft, { recursive: true, force: true });
  for (const { path } of manifest.files) {
    const target = join(draft, path);
    mkdirSync(dirname(target), { recursive: true, mode: 0o700 });
    copyFileSync(join(from, path), target);
    chmodSync(target, 0o600);
  }
  if (!isEmpty) {
    const aside = `${dataDir}.before-restore-${new Date().toISOString().replaceAll(":", "-")}`;
    renameSync(dataDir, aside);
    console.log(`what was there: ${aside}`);
  } else if (existsSync(dataDir)) {
    rmSync(dataDir, { recursive: true });
  }
  renameSync(draft, dataDir);
  console.log(
    `${dataDir}: the state of ${manifest.madeAt}, ${manifest.files.length} files. npm start audits it.`,
  );
  return 0;
});
