// What a backup consists of: which files of a data directory, in what order, and the manifest that proves them whole.
import { createHash } from "node:crypto";
import { createReadStream, existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { CliError } from "./cli.mjs";

/** The database of local-convex and the state of the Kinde emulator, by their names in the data directory. */
export const ENGINE_FILE = "convex.sqlite";
export const EMULATOR_FILE = "kinde.sqlite";
export const SPOOL_FOLDER = "spool";
export const MANIFEST = "manifest.json";

/** Copied as they are: nobody changes them while the stack runs, or a reader finds the old or the new one whole. */
const PLAIN_FILES = [
  "server-secret",
  "operator-key",
  "kinde-client-secret",
  "kinde-m2m-secret",
  "kinde-control-key",
  "clock.json",
];
const SEGMENT = /^[0-9a-f]{32}\.\d{8}\.clicks$/;

const manifestShape = z.object({
  format: z.literal(1),
  madeAt: z.iso.datetime(),
  files: z.array(z.object({ path: z.string(), bytes: z.number().int().min(0), sha256: z.string() })).min(1),
});
export type Manifest = z.infer<typeof manifestShape>;

/** Secrets and clock of a data directory, as paths in it. */
export function plainFilesOf(dataDir: string): string[] {
  return PLAIN_FILES.filter((file) => existsSync(join(dataDir, file)));
}

/** Files of clicks that are not in the ledger yet, as paths in the data directory. Locks stay with their processes. */
export function segmentsOf(dataDir: string): string[] {
  const folder = join(dataDir, SPOOL_FOLDER);
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => SEGMENT.test(name))
    .map((name) => join(SPOOL_FOLDER, name));
}

export async function makeManifest(
  folder: string,
  paths: readonly string[],
  madeAt: string,
): Promise<Manifest> {
  const files = [];
  for (const path of paths) {
    files.push({
      path,
      bytes: statSync(join(folder, path)).size,
      sha256: await sha256Of(join(folder, path)),
    });
  }
  return { format: 1, madeAt, files };
}

/** Reads the manifest of a backup and proves every file of it. Throws CliError that names what is wrong. */
export async function checkBackup(folder: string): Promise<Manifest> {
  const manifest = readManifest(folder);
  for (const { path, bytes, sha256 } of manifest.files) {
    if (!isPlace(path))
      throw new CliError(`${folder}: the manifest names ${path}, which is no file of a backup`);
    const file = join(folder, path);
    if (!existsSync(file)) throw new CliError(`${folder}: ${path} is missing`);
    const size = statSync(file).size;
    if (size !== bytes) throw new CliError(`${folder}: ${path} has ${size} bytes, not ${bytes}`);
    if ((await sha256Of(file)) !== sha256)
      throw new CliError(`${folder}: ${path} has been changed or damaged`);
  }
  return manifest;
}

function readManifest(folder: string): Manifest {
  let text: string;
  try {
    text = readFileSync(join(folder, MANIFEST), "utf8");
  } catch (cause) {
    throw new CliError(`${folder} is no backup: it has no ${MANIFEST}`, { cause });
  }
  try {
    return manifestShape.parse(JSON.parse(text));
  } catch (cause) {
    throw new CliError(`${join(folder, MANIFEST)} is not a manifest that this version writes`, { cause });
  }
}

/** A manifest comes from outside: it may not lead out of the data directory. */
function isPlace(path: string): boolean {
  if ([...PLAIN_FILES, ENGINE_FILE, EMULATOR_FILE].includes(path)) return true;
  const prefix = `${SPOOL_FOLDER}/`;
  return path.startsWith(prefix) && SEGMENT.test(path.slice(prefix.length));
}

async function sha256Of(file: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(file)) hash.update(chunk as Buffer);
  return hash.digest("hex");
}
