import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { checkPush } from "../../lib/local-convex/push-check/check.ts";
import { runScript } from "../scripts/run-script.ts";

const REPOSITORY = join(import.meta.dirname, "..", "..");

let root: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "push-check-"));
  mkdirSync(join(root, "convex"));
  symlinkSync(join(REPOSITORY, "node_modules"), join(root, "node_modules"));
});

afterEach(() => rmSync(root, { recursive: true, force: true }));

function write(files: Record<string, string>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
}

/** What is found in a folder with these files, one line a fault. */
async function faultsOf(files: Record<string, string>): Promise<string[]> {
  write(files);
  const { faults } = await checkPush(join(root, "convex"));
  return faults.map(({ file, what }) => `${file} ${what}`);
}

const QUERY = `
  import { queryGeneric as query } from "convex/server";
  export const one = query({ args: {}, handler: async () => 1 });
`;
const ACTION = `
  import { actionGeneric as action } from "convex/server";
  export const one = action({ args: {}, handler: async () => 1 });
`;

describe("accepted", () => {
  test("Holdfast's own functions, with the variable that auth.config needs", async () => {
    const check = await checkPush(join(REPOSITORY, "convex"));
    expect(check.faults).toEqual([]);
    expect(check.authConfigVariables).toEqual(["KINDE_ISSUER_URL"]);
  });

  test("functions without argument and return validators", async () => {
    const bare = `import { queryGeneric as query } from "convex/server"; export const one = query(async () => 1);`;
    expect(await faultsOf({ "convex/bare.ts": bare })).toEqual([]);
  });

  test("actions in Node that use its built-ins, also behind a comment", async () => {
    const node = `// Reads files.\n/* Really. */\n"use strict";\n'use node';\nimport { readFileSync } from "node:fs";\nexport const read = readFileSync;\n`;
    expect(
      await faultsOf({ "convex/files.ts": node + ACTION, "convex/actions/more.ts": `"use node";${ACTION}` }),
    ).toEqual([]);
  });

  test("tests, declarations and generated code, which are no modules", async () => {
    const broken = `import "nowhere";`;
    expect(
      await faultsOf({
        "convex/one.ts": QUERY,
        "convex/one.test.ts": broken,
        "convex/shapes.d.ts": broken,
        "convex/_generated/api.js": broken,
        "convex/.hidden.ts": broken,
        "convex/README-first.md": "text",
        "convex/component-of-others/convex.config.ts": broken,
        "convex/component-of-others/one.ts": broken,
      }),
    ).toEqual([]);
  });

  test("what a push replaces: server-only and async_hooks", async () => {
    const code = `import "server-only"; import { AsyncLocalStorage } from "node:async_hooks"; export const has = typeof AsyncLocalStorage;`;
    expect(await faultsOf({ "convex/one.ts": code })).toEqual([]);
  });

  test("a text that only looks like the directive", async () => {
    const code = `const text = "use node";\n// "use node"\n${QUERY}\nexport const said = text;`;
    expect(await faultsOf({ "convex/one.ts": code })).toEqual([]);
  });
});

const LONG = "a".repeat(62);

describe("refused", () => {
  test.each<[string, Record<string, string>, string | RegExp]>([
    [
      "a hyphen in a file name",
      { "convex/two-words.ts": QUERY },
      'convex/two-words.ts has a character in "two-words.js" that module paths may not have',
    ],
    [
      "a hyphen in a folder name",
      { "convex/two-words/one.ts": QUERY },
      'convex/two-words/one.ts has a character in "two-words" that module paths may not have',
    ],
    [
      "a letter outside ASCII",
      { "convex/größe.ts": QUERY },
      /^convex\/größe\.ts has a character in "größe\.js"/,
    ],
    ["no letter or digit", { "convex/__/one.ts": QUERY }, 'convex/__/one.ts has no letter or digit in "__"'],
    ["a long name", { [`convex/${LONG}.ts`]: QUERY }, `convex/${LONG}.ts has a part of 65 characters`],
    [
      "two dots",
      { "convex/users.v2.ts": QUERY },
      "convex/users.v2.ts is left out of the push: its name has two dots",
    ],
    [
      "a space",
      { "convex/my users.ts": QUERY },
      "convex/my users.ts is left out of the push: its path has a space",
    ],
    ["the folder _deps", { "convex/_deps/one.ts": QUERY }, "convex/_deps/one.ts lies in _deps"],
    [
      "a Node built-in in the default runtime",
      { "convex/one.ts": `import { readFileSync } from "node:fs";\nexport const read = readFileSync;` },
      'convex/one.ts:1 does not bundle: Could not resolve "node:fs"',
    ],
    [
      "a Node built-in in what a module imports",
      {
        "convex/one.ts": `export * from "../lib/read";`,
        "lib/read.ts": `\nexport { readFileSync } from "fs";`,
      },
      'lib/read.ts:2 does not bundle: Could not resolve "fs"',
    ],
    [
      "an import that leads nowhere",
      { "convex/one.ts": `export * from "./nowhere";` },
      'convex/one.ts:1 does not bundle: Could not resolve "./nowhere"',
    ],
    [
      "code that does not parse",
      { "convex/one.ts": `export const = 1;` },
      /^convex\/one\.ts:1 does not bundle: Expected/,
    ],
    [
      "two modules of one name",
      { "convex/one.ts": QUERY, "convex/one.js": QUERY },
      /does not bundle: Two output files share the same path/,
    ],
    [
      "a schema that does not bundle",
      { "convex/schema.ts": `import "node:path"; export default {};` },
      'convex/schema.ts:1 does not bundle: Could not resolve "node:path"',
    ],
    [
      "an auth.config that does not bundle",
      { "convex/auth.config.ts": `import "node:path"; export default { providers: [] };` },
      'convex/auth.config.ts:1 does not bundle: Could not resolve "node:path"',
    ],
    ...["http", "crons", "schema", "auth.config"].map(
      (name) =>
        [
          `"use node" in ${name}`,
          { [`convex/${name}.ts`]: `"use node";\nexport default {};` },
          `convex/${name}.ts has "use node"`,
        ] as [string, Record<string, string>, string],
    ),
    [
      'a file of actions/ without "use node"',
      { "convex/actions/one.ts": ACTION },
      'convex/actions/one.ts lies in actions/ and has no "use node"',
    ],
    [
      "a query in Node",
      { "convex/one.ts": `"use node";${QUERY}` },
      'convex/one.ts exports the query "one" and has "use node"',
    ],
    [
      "an HTTP action in Node",
      {
        "convex/one.ts": `"use node";\nimport { httpActionGeneric as h } from "convex/server";\nexport const hook = h(async () => new Response());`,
      },
      'convex/one.ts exports the HTTP action "hook" and has "use node"',
    ],
    [
      "a module that fails when it is loaded",
      { "convex/one.ts": `\nexport const one = (undefined as never as { a: string }).a;` },
      /^convex\/one\.ts:2 fails when it is loaded: Cannot read properties of undefined/,
    ],
    [
      "http without a router",
      { "convex/http.ts": QUERY },
      "convex/http has no default export made by httpRouter()",
    ],
    [
      "crons without jobs",
      { "convex/crons.ts": `export default {};` },
      "convex/crons has no default export made by cronJobs()",
    ],
    [
      "two files auth.config",
      {
        "convex/auth.config.ts": `export default { providers: [] };`,
        "convex/auth.config.js": `export default { providers: [] };`,
      },
      "convex/auth.config.js lies beside auth.config.ts",
    ],
    [
      "a provider without applicationID",
      { "convex/auth.config.ts": `export default { providers: [{ domain: process.env.ISSUER }] };` },
      "convex/auth.config is refused: providers[0].applicationID must be a text.",
    ],
  ])("%s", async (_name, files, fault) => {
    const faults = await faultsOf({ "convex/fine.ts": QUERY, ...files });
    expect(faults).toEqual([typeof fault === "string" ? fault : expect.stringMatching(fault)]);
  });

  test("all faults of names and builds are found in one go", async () => {
    const faults = await faultsOf({
      "convex/a-b.ts": QUERY,
      "convex/one.ts": `import "node:fs"; import "./nowhere"; export {};`,
      "convex/two.ts": `"use node";\nimport "nowhere-at-all";`,
    });
    expect(faults.toSorted()).toEqual([
      'convex/a-b.ts has a character in "a-b.js" that module paths may not have',
      'convex/one.ts:1 does not bundle: Could not resolve "./nowhere"',
      'convex/one.ts:1 does not bundle: Could not resolve "node:fs"',
      'convex/two.ts:2 does not bundle: Could not resolve "nowhere-at-all"',
    ]);
  });
});

test("every variable that auth.config asks for is listed, also those in what it imports", async () => {
  write({
    "convex/auth.config.ts": `
      import { issuer } from "../lib/issuer";
      const { DESTRUCTURED } = process.env;
      export default {
        providers: [
          { domain: issuer, applicationID: DESTRUCTURED },
          { type: "customJwt", issuer, jwks: process.env["JWKS"] === "" ? process.env.OTHER_JWKS : issuer, algorithm: "RS256" },
        ],
      };`,
    "lib/issuer.ts": `export const issuer = process.env.ISSUER!;`,
  });
  const check = await checkPush(join(root, "convex"));
  expect(check.faults).toEqual([]);
  expect(check.authConfigVariables).toEqual(["DESTRUCTURED", "ISSUER", "JWKS", "OTHER_JWKS"]);
});

test("the command names what is refused and ends with 1, or says that nothing is", async () => {
  const command = [
    "--import",
    "tsx",
    join(REPOSITORY, "scripts/push-check.ts"),
    "--functions",
    join(root, "convex"),
  ];
  write({ "convex/one.ts": QUERY, "convex/auth.config.ts": AUTH });
  expect(await runScript(command)).toEqual({
    status: 0,
    stdout: `${join(root, "convex")}: 1 modules, nothing that a push would refuse\nauth.config needs these variables on the deployment: ISSUER\n`,
    stderr: "",
  });
  write({ "convex/two-words.ts": QUERY });
  expect(await runScript(command)).toEqual({
    status: 1,
    stdout: "",
    stderr:
      'convex/two-words.ts has a character in "two-words.js" that module paths may not have. ' +
      'Only letters, digits, "_" and "." are accepted: no hyphen. Write it in camelCase.\n',
  });
});

const AUTH = `export default { providers: [{ domain: process.env.ISSUER!, applicationID: "convex" }] };`;
