import { afterEach, beforeEach, describe, expect, test } from "vitest";

import type { LinkView } from "../../convex/links.ts";
import { CODE_ALPHABET, RESERVED_CODES } from "../../lib/ledger/code.ts";
import { type Backend, createBackend, SERVER_SECRET, SHORT_URL } from "../helpers/backend.ts";
import { createTenant, type Tenant } from "../helpers/tenant.ts";

type Made =
  | { kind: "created" | "updated"; link: LinkView }
  | { kind: "invalid"; errors: { path: string; message: string }[] }
  | { kind: "code_taken" | "not_found" };

const TARGET = "https://example.com/a";

let backend: Backend;
let tenant: Tenant;
beforeEach(async () => {
  backend = await createBackend();
  tenant = await createTenant(backend);
});
afterEach(() => backend.close());

const tryToMake = (args: object, owner = tenant) =>
  owner.mutation<Made>("links:create", { target: TARGET, ...args });
const change = (linkId: string, args: object, owner = tenant) =>
  owner.mutation<Made>("links:update", { linkId, ...args });
const resolve = (code: string) =>
  backend.query<{ linkId: string; isActive: boolean; location: string } | null>("links:resolve", {
    serverSecret: SERVER_SECRET,
    code,
  });

async function make(args: object = {}, owner = tenant): Promise<LinkView> {
  const made = await tryToMake(args, owner);
  if (made.kind !== "created") throw new Error(JSON.stringify(made));
  return made.link;
}

describe("codes", () => {
  test.each(["LoKE2", "ABC", "abc", "x".repeat(64)])(
    "B07: %s is saved as typed and resolves",
    async (code) => {
      const link = await make({ code });
      expect(link).toMatchObject({ code, url: `${SHORT_URL}/${code}` });
      expect(await resolve(link.code)).toMatchObject({ linkId: link.id, location: TARGET });
    },
  );

  test("B07: capital letters tell codes apart", async () => {
    await make({ code: "ABC" });
    expect(await resolve("abc")).toBeNull();
    expect((await make({ code: "abc" })).code).toBe("abc");
  });

  test.each(["", "a b", "köln", "a/b", "API", "x".repeat(65)])(
    "B07: %j is refused with a reason",
    async (code) => {
      expect(await tryToMake({ code })).toEqual({
        kind: "invalid",
        errors: [{ path: "code", message: expect.stringMatching(/^code \w+/) }],
      });
    },
  );

  test("no reserved word becomes a link", async () => {
    for (const code of RESERVED_CODES) expect((await tryToMake({ code })).kind).toBe("invalid");
    expect(await backend.readAll("links")).toEqual([]);
  });

  test("a random code has no letters that look alike", async () => {
    const codes = new Set<string>();
    for (let made = 0; made < 20; made++) codes.add((await make()).code);
    expect(codes.size).toBe(20);
    for (const code of codes)
      expect(code.split("").every((letter) => CODE_ALPHABET.includes(letter))).toBe(true);
  });

  test("a code is given once, also at the same moment and by two owners", async () => {
    const other = await createTenant(backend);
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, index) => tryToMake({ code: "once" }, index % 2 === 0 ? tenant : other)),
    );
    expect(answers.filter(({ kind }) => kind === "created")).toHaveLength(1);
    expect(answers.filter(({ kind }) => kind === "code_taken")).toHaveLength(9);
  });

  test("the code of a deleted link is never given again, to nobody", async () => {
    const link = await make({ code: "gone" });
    expect(await tenant.mutation("links:remove", { linkId: link.id })).toEqual({ kind: "removed" });
    const other = await createTenant(backend);
    for (const owner of [tenant, other]) {
      expect(await tryToMake({ code: "gone" }, owner)).toMatchObject({ kind: "code_taken" });
    }
    expect(await resolve("gone")).toMatchObject({ linkId: link.id, isActive: false });
  });
});

/** What may not be a target, with what is wrong with it. */
const REFUSED = [
  ["B05", "https://hold.example/x"],
  ["B05", "https://HOLD.Example/x"],
  ["B05", "https://hold.example./x"],
  ["B05", "http://hold.example:8080/"],
  ["B05", "https://%68old.example/"],
  ["B19", "javascript:alert(1)"],
  ["B19", "JaVaScRiPt:alert(1)"],
  ["B19", " javascript:alert(1)"],
  ["B19", "java\tscript:alert(1)"],
  ["B20", "data:text/html,x"],
  ["B20", "vbscript:x"],
  ["B20", "file:///etc/passwd"],
  ["B48", "https://example.com/a b"],
  ["B48", "https://example.com/a\r\nset-cookie: x"],
  ["B48", "https://example.com/\n"],
] as const;

describe("targets", () => {
  test.each(REFUSED)(
    "%s: %j is refused at create and at edit, as target and as second target",
    async (_id, bad) => {
      const link = await make();
      for (const path of ["target", "overCapTarget"]) {
        const refused = { kind: "invalid", errors: [{ path, message: expect.stringContaining(path) }] };
        expect(await tryToMake({ [path]: bad })).toEqual(refused);
        expect(await change(link.id, { [path]: bad })).toEqual(refused);
      }
      expect(await backend.readAll("links")).toHaveLength(1);
      expect(await tenant.query("links:get", { linkId: link.id })).toEqual(link);
    },
  );

  test("B48: the position of what is refused is named", async () => {
    expect(await tryToMake({ target: "https://example.com/a b" })).toMatchObject({
      errors: [{ path: "target", message: expect.stringContaining("character 22") }],
    });
  });

  test.each([
    ["B10", "http://tübingen.de/", "http://xn--tbingen-n2a.de/", "tübingen.de"],
    ["B11", "https://www.flickr.com/photos/127405888@N08/", null, "www.flickr.com"],
    [
      "B12",
      "http://EXAMPLE.com?pub_id=28CL11&url=https://paytm.com/dth",
      "http://example.com?pub_id=28CL11&url=https://paytm.com/dth",
      "example.com",
    ],
    ["B13", "https://example.com/?a=%2B&b=%2F&c=%3D", null, "example.com"],
    ["B15", "https://en.wikipedia.org/wiki/?2+2_(TV_channel)", null, "en.wikipedia.org"],
    ["B16", "https://example.com/a.b/?q=a%20b&q[]=1&q[]=1", null, "example.com"],
    ["B48", "https://example.com/ä?ö", "https://example.com/%C3%A4?%C3%B6", "example.com"],
  ])("%s: %s is what a visitor is sent to", async (_id, typed, sent, displayHost) => {
    const link = await make({ target: typed });
    const expected = { target: sent ?? typed, displayHost };
    expect(link).toMatchObject(expected);
    expect(await resolve(link.code)).toMatchObject({ location: expected.target });
    const edited = await change((await make()).id, { target: typed });
    expect(edited).toMatchObject({ kind: "updated", link: expected });
  });

  test("all faults of a link are named at once, and nothing is stored", async () => {
    const faulty = { target: "", code: "a b", title: "x".repeat(201), capUnits: 0, overCapTarget: "x" };
    const answer = await tryToMake(faulty);
    if (answer.kind !== "invalid") throw new Error(answer.kind);
    expect(answer.errors.map(({ path }) => path)).toEqual([
      "code",
      "target",
      "title",
      "capUnits",
      "overCapTarget",
    ]);
    expect(await backend.readAll("links")).toEqual([]);
  });
});

describe("a link", () => {
  test("is changed in what is given and in nothing else", async () => {
    const link = await make({ code: "c", title: "First", capUnits: 5, overCapTarget: `${TARGET}/over` });
    const edited = await change(link.id, { title: "Second" });
    expect(edited).toEqual({ kind: "updated", link: { ...link, title: "Second" } });
    const freed = await change(link.id, { capUnits: null, overCapTarget: null });
    expect(freed).toMatchObject({
      link: { title: "Second", capUnits: null, overCapTarget: null, target: TARGET },
    });
  });

  test("is disabled and enabled again; disabling twice keeps the first instant", async () => {
    const { id, code } = await make();
    await change(id, { isActive: false });
    const [before] = await backend.readAll<{ _id: string; _creationTime: number; inactiveSinceMs: number }>(
      "links",
    );
    await backend.advanceMs(1_000);
    await change(id, { isActive: false });
    expect(await backend.readAll("links")).toEqual([before]);
    expect(await resolve(code)).toMatchObject({ isActive: false });
    expect(await change(id, { isActive: true })).toMatchObject({ link: { isActive: true } });
    expect(await resolve(code)).toMatchObject({ isActive: true });
  });

  test("of another owner is not there: not to read, change, delete or count", async () => {
    const link = await make();
    const other = await createTenant(backend);
    expect(await other.query("links:get", { linkId: link.id })).toBeNull();
    expect(await change(link.id, { title: "mine" }, other)).toEqual({ kind: "not_found" });
    expect(await other.mutation("links:remove", { linkId: link.id })).toEqual({ kind: "not_found" });
    const span = { linkId: link.id, fromMs: 0, untilMs: 1 };
    expect(await other.query("links:stats", span)).toEqual({ kind: "not_found" });
    expect(await other.query("links:list", { cursor: null, limit: 10 })).toMatchObject({ links: [] });
    expect(await tenant.query("links:get", { linkId: link.id })).toEqual(link);
  });

  test("that is deleted is gone for its owner as well", async () => {
    const link = await make();
    await tenant.mutation("links:remove", { linkId: link.id });
    expect(await tenant.query("links:get", { linkId: link.id })).toBeNull();
    expect(await change(link.id, { isActive: true })).toEqual({ kind: "not_found" });
    expect(await tenant.mutation("links:remove", { linkId: link.id })).toEqual({ kind: "not_found" });
    expect(await resolve(link.code)).toMatchObject({ isActive: false });
  });

  test("is listed newest first, page by page, without deleted ones", async () => {
    const made: LinkView[] = [];
    for (let index = 0; index < 5; index++) made.push(await make({ title: `${index}` }));
    await tenant.mutation("links:remove", { linkId: made[2]!.id });
    const titles: string[] = [];
    let cursor: string | null = null;
    do {
      const page: { links: LinkView[]; cursor: string | null } = await tenant.query("links:list", {
        cursor,
        limit: 2,
      });
      titles.push(...page.links.map(({ title }) => title));
      cursor = page.cursor;
    } while (cursor !== null);
    expect(titles).toEqual(["4", "3", "1", "0"]);
  });

  test("needs a scope of its own for reading and for changing", async () => {
    const withoutScope = expect.objectContaining({ data: expect.objectContaining({ code: "forbidden" }) });
    const keys = { serverSecret: SERVER_SECRET, keyHash: "e".repeat(64) };
    await tenant.addKey(keys.keyHash, ["links:read"]);
    const list = { ...keys, cursor: null, limit: 1 };
    expect(await backend.query("links:list", list)).toMatchObject({ links: [] });
    await expect(backend.mutation("links:create", { ...keys, target: TARGET })).rejects.toEqual(withoutScope);
  });
});
