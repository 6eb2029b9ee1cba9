// `npm run backup -- --to FOLDER`: a whole copy of an installation on this machine, while it runs or when it is stopped.
import { chmodSync, copyFileSync, existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import {
  EMULATOR_FILE,
  ENGINE_FILE,
  makeManifest,
  MANIFEST,
  plainFilesOf,
  segmentsOf,
} from "./support/backup-files.ts";
import { openSources, type Sources } from "./support/backup-sources.ts";
import { CliError, helpText, parseOptions, runMain, usageError } from "./support/cli.mjs";

const OPTIONS = {
  to: { type: "string", help: "the folder to make; nothing may be there yet" },
  "data-dir": { type: "string", default: ".holdfast", help: "the data directory to copy" },
} as const;

const USAGE = `npm run backup -- --to FOLDER [options]: copies an installation of this machine, running or not.
The copy has its secrets: keep it as closed as the data directory. With CONVEX_URL or a Kinde tenant in use, what they
hold is not in it: use npx convex export for a deployment.`;

await runMain("backup", async (argv) => {
  const options = parseOptions(OPTIONS, argv);
  if (options.help) {
    console.log(helpText(USAGE, OPTIONS));
    return 0;
  }
  if (options.to === undefined) throw usageError("--to is missing: the folder to make");
  const to = resolve(options.to);
  const dataDir = resolve(options["data-dir"]);
  if (!existsSync(join(dataDir, "server-secret"))) {
    throw new CliError(`${dataDir} is no data directory of a stack that has run`);
  }
  if (existsSync(to)) throw new CliError(`${to} exists already; name a new folder`);

  const draft = `${to}.part`;
  rmSync(draft, { recursive: true, force: true });
  const startMs = performance.now();
  const sources = openSources(dataDir);
  try {
    const files = await copyAll(dataDir, draft, sources);
    const manifest = await makeManifest(draft, files, new Date().toISOString());
    writeFileSync(join(draft, MANIFEST), `${JSON.stringify(manifest, null, 2)}\n`, {
      mode: 0o600,
      flush: true,
    });
    renameSync(draft, to);
    const bytes = manifest.files.reduce((sum, file) => sum + file.bytes, 0);
    const seconds = ((performance.now() - startMs) / 1000).toFixed(1);
    const how = sources.isRunning ? "while it runs" : "stopped";
    console.log(
      `${to}: ${files.length} files, ${(bytes / 1e6).toFixed(1)} MB of ${dataDir} (${how}), in ${seconds} s`,
    );
    if (!files.includes(ENGINE_FILE)) {
      console.log("The Convex deployment runs elsewhere and is not in it: use npx convex export.");
    }
    return 0;
  } finally {
    sources.close();
    rmSync(draft, { recursive: true, force: true });
  }
});

/**
 * Spool, then database, then provider. A click that leaves the spool meanwhile is in the database by then, and one that
 * is in both is recorded once, by its key. The provider's meters may be a moment ahead of the ledger, never behind a
 * report that the database holds for confirmed.
 */
async function copyAll(dataDir: string, draft: string, sources: Sources): Promise<string[]> {
  mkdirSync(draft, { recursive: true, mode: 0o700 });
  const files: string[] = [];
  for (const path of [...plainFilesOf(dataDir), ...segmentsOf(dataDir)]) {
    if (copied(join(dataDir, path), join(draft, path))) files.push(path);
  }
  if (await sources.copyEngine(join(draft, ENGINE_FILE))) files.push(ENGINE_FILE);
  if (await sources.copyEmulator(join(draft, EMULATOR_FILE))) files.push(EMULATOR_FILE);
  return files;
}

/** False when the file is gone: a segment whose clicks have just been recorded. */
function copied(from: string, to: string): boolean {
  mkdirSync(dirname(to), { recursive: true, mode: 0o700 });
  try {
    copyFileSync(from, to);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return false;
    throw error;
  }
  chmodSync(to, 0o600);
  return true;
}
