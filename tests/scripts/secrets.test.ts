import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { openDataDir } from "../../scripts/support/data-dir.ts";
import { openSecrets } from "../../scripts/support/secrets.ts";

let root = "";
let dataDir = "";
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "holdfast-secrets-"));
  dataDir = join(root, "data");
  openDataDir(dataDir);
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const modeOf = (path: string) => statSync(path).mode & 0o777;

describe("the secrets of a data directory", () => {
  test("are made once, well-formed and closed to others", () => {
    const first = openSecrets(dataDir);
    expect(first.serverSecret).toMatch(/^[0-9a-f]{64}$/);
    expect(first.operatorKey).toMatch(/^hf_op_[\w-]{43}$/);
    expect(modeOf(dataDir)).toBe(0o700);
    expect(modeOf(join(dataDir, "server-secret"))).toBe(0o600);
    expect(modeOf(first.operatorKeyFile)).toBe(0o600);
    expect(readdirSync(dataDir).toSorted()).toEqual([
      "kinde-client-secret",
      "kinde-control-key",
      "kinde-m2m-secret",
      "operator-key",
      "server-secret",
    ]);
    expect(openSecrets(dataDir)).toEqual(first);
  });

  test("differ between installations", () => {
    const other = join(root, "other");
    openDataDir(other);
    expect(openSecrets(other).serverSecret).not.toBe(openSecrets(dataDir).serverSecret);
  });

  test("are closed to others again when they came back open", () => {
    const { operatorKeyFile } = openSecrets(dataDir);
    chmodSync(operatorKeyFile, 0o644);
    openSecrets(dataDir);
    expect(modeOf(operatorKeyFile)).toBe(0o600);
  });

  test.each([
    { file: "server-secret", text: "", says: "is empty" },
    { file: "server-secret", text: "abc", says: "is malformed" },
    { file: "operator-key", text: "hf_op_short\n", says: "is malformed" },
    { file: "operator-key", text: "\n", says: "is empty" },
  ])("$file with $text is refused and left as it is", ({ file, text, says }) => {
    const path = join(dataDir, file);
    writeFileSync(path, text);
    expect(() => openSecrets(dataDir)).toThrow(new RegExp(`${path} ${says}`));
    expect(statSync(path).size).toBe(text.length);
  });

  test("that cannot be read are refused with the reason", () => {
    mkdirSync(join(dataDir, "operator-key"));
    expect(() => openSecrets(dataDir)).toThrow(/operator-key cannot be read \(EISDIR\)/);
  });
});
