/** `POST /api/backup`, not of Convex's own API: copies the database of the running engine into a new file. */
import { existsSync, statSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { dirname, isAbsolute } from "node:path";
import { equalInConstantTime } from "../shared/secrets.ts";
import { RequestError, StorageError } from "./errors.ts";
import type { Engine } from "./engine.ts";
import { readJson, sendJson } from "./http-body.ts";

/**
 * Body `{"file": "/absolute/path"}`; the path must be free and its folder there. Answers `{"bytes": N}` when the copy
 * is whole and checked. @throws RequestError 404 without a backup key, 401, 400, 500
 */
export async function backUp(
  engine: Engine,
  backupKey: string | undefined,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  if (backupKey === undefined) throw new RequestError(404, "NotFound", "This engine makes no backups.");
  const given = /^bearer (.+)$/i.exec(request.headers.authorization ?? "")?.[1] ?? "";
  if (!equalInConstantTime(backupKey, given)) {
    throw new RequestError(401, "BadBackupKey", "The backup key is missing or wrong.");
  }
  const file = fileOf(await readJson(request));
  try {
    await engine.backUp(file);
  } catch (error) {
    if (!(error instanceof StorageError)) throw error;
    throw new RequestError(500, "BackupFailed", error.message);
  }
  sendJson(response, 200, JSON.stringify({ bytes: statSync(file).size }));
}

function fileOf(body: unknown): string {
  const file = typeof body === "object" && body !== null && "file" in body ? body.file : undefined;
  if (typeof file !== "string" || !isAbsolute(file)) {
    throw new RequestError(400, "BadRequest", "`file` must be an absolute path.");
  }
  if (!existsSync(dirname(file)))
    throw new RequestError(400, "BadRequest", `${dirname(file)} does not exist.`);
  if (existsSync(file)) throw new RequestError(400, "BadRequest", `${file} exists already.`);
  return file;
}
