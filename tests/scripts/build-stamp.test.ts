import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { hashSources, isBuilt, stampBuild } from "../../scripts/support/build-stamp.ts";

let root = "";
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "holdfast-stamp-"));
  write("app/page.tsx", "page");
  write("lib/gate/settle.ts", "settle");
  write("package-lock.json", "{}");
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

function write(path: string, content: string): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), content);
}

describe("the hash of the sources", () => {
  test.each([
    "app/page.tsx",
    "app/new.tsx",
    "lib/gate/settle.ts",
    "package-lock.json",
    "next.config.ts",
    "public/x.svg",
  ])("changes with %s", (path) => {
    const before = hashSources(root);
    write(path, "changed");
    expect(hashSources(root)).not.toBe(before);
  });

  test.each([
    "scripts/load.mjs",
    "tests/a.test.ts",
    "lib/local-convex/engine.ts",
    "convex/gate.ts",
    "README.md",
  ])("does not change with %s, which runs from source or not at all", (path) => {
    const before = hashSources(root);
    write(path, "changed");
    expect(hashSources(root)).toBe(before);
  });

  test("tells a moved line between files and another Node apart", () => {
    const before = hashSources(root, "v20.20.0");
    expect(hashSources(root, "v22.1.0")).not.toBe(before);
    write("app/page.tsx", "");
    write("app/page2.tsx", "page");
    expect(hashSources(root, "v20.20.0")).not.toBe(before);
  });
});

describe("a build", () => {
  test("counts only when it is finished and marked with the hash of these sources", () => {
    const hash = hashSources(root);
    expect(isBuilt(root, hash)).toBe(false);
    mkdirSync(join(root, ".next"));
    stampBuild(root, hash);
    expect(isBuilt(root, hash)).toBe(false);
    write(".next/BUILD_ID", "id");
    expect(isBuilt(root, hash)).toBe(true);
    expect(isBuilt(root, "other")).toBe(false);
    write(".next/holdfast-build.json", "{");
    expect(isBuilt(root, hash)).toBe(false);
  });
});
