import { readFileSync } from "node:fs";
import { join } from "node:path";

import { describe, expect, test } from "vitest";

/** What `npm ci` brings onto a machine: exactly what the lock file says, from the public registry, and nothing that runs. */
const ROOT = join(import.meta.dirname, "../..");
const read = (name: string): unknown => JSON.parse(readFileSync(join(ROOT, name), "utf8"));

interface Locked {
  readonly version?: string;
  readonly resolved?: string;
  readonly integrity?: string;
  readonly link?: boolean;
  /** It is in the archive of the package that it lies in. */
  readonly inBundle?: boolean;
  readonly hasInstallScript?: boolean;
}

const manifest = read("package.json") as {
  readonly dependencies: Record<string, string>;
  readonly devDependencies: Record<string, string>;
  readonly allowScripts: Record<string, boolean>;
};
const lock = read("package-lock.json") as {
  readonly lockfileVersion: number;
  readonly packages: Record<string, Locked>;
};
const direct = Object.entries({ ...manifest.dependencies, ...manifest.devDependencies });
const installed = Object.entries(lock.packages).filter(([place]) => place !== "");
/** A package may lie in the folder of another one. */
const nameOf = (place: string) => place.slice(place.lastIndexOf("node_modules/") + "node_modules/".length);

const faulty = (fits: (name: string, entry: Locked) => boolean) =>
  installed.filter(([place, entry]) => !fits(nameOf(place), entry)).map(([place]) => place);

test("the lock file has every dependency of package.json, in the version that is written there", () => {
  expect(lock.lockfileVersion).toBe(3);
  expect(installed.length).toBeGreaterThan(direct.length);
  for (const [name, version] of direct) {
    expect([name, lock.packages[`node_modules/${name}`]?.version]).toEqual([name, version]);
  }
});

test("package.json names exact versions: no range, no tag, no address", () => {
  expect(direct.filter(([, version]) => !/^\d+\.\d+\.\d+(?:-[\w.]+)?$/.test(version))).toEqual([]);
});

describe("every package of the lock file", () => {
  test("has the hash that its content is checked against, SHA-512, or is part of one that has", () => {
    const hash = /^sha512-[A-Za-z0-9+/]{86}==$/;
    expect(
      faulty((_name, { integrity, inBundle }) => hash.test(integrity ?? "") || inBundle === true),
    ).toEqual([]);
  });

  test("names no address but its own at the public npm registry, over https", () => {
    // Without an address npm asks the registry it is set to, and the hash decides whether that gave the right thing.
    const isPublic = (name: string, { resolved, version = "" }: Locked) => {
      const file = name.slice(name.indexOf("/") + 1);
      return (
        resolved === undefined || resolved === `https://registry.npmjs.org/${name}/-/${file}-${version}.tgz`
      );
    };
    expect(faulty(isPublic)).toEqual([]);
  });

  test("is no link to a folder", () => {
    expect(faulty((_name, { link }) => link !== true)).toEqual([]);
  });

  test("runs no script when it is installed, unless package.json allows it by name", () => {
    const isAllowed = (name: string) => manifest.allowScripts[name] === true;
    expect(faulty((name, { hasInstallScript }) => hasInstallScript !== true || isAllowed(name))).toEqual([]);
  });
});

test("every script that is allowed belongs to a package that is there", () => {
  expect(
    Object.keys(manifest.allowScripts).filter((name) => !(`node_modules/${name}` in lock.packages)),
  ).toEqual([]);
});

test("no setting of npm in the repository points elsewhere", () => {
  expect(() => readFileSync(join(ROOT, ".npmrc"), "utf8")).toThrow(/ENOENT/);
});
