import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { createFrontDoor } from "../../lib/server/front-door.ts";
import { handleApi } from "../../lib/server/api/router.ts";
import type { PlainRequest } from "../../lib/server/http.ts";
import { exportResponse, wantedFormat } from "../../lib/server/api/entry-export.ts";
import { API_KEY, apiHarness } from "./helpers/api.ts";
import { entry, entryPage } from "./helpers/samples.ts";

const api = await apiHarness();

/** A page of `count` rows that differ in their key and id. */
function page(number: number, count: number, cursor: string | null) {
  const entries = Array.from({ length: count }, (_, index) => ({ ...entry, key: `${number}-${index}` }));
  return { value: { ...entryPage, entries, cursor } };
}

let server: Server | undefined;
afterEach(() => {
  server?.closeAllConnections();
  server?.close();
});

/** Through a real server, as a client downloads it. */
async function download(search: string, headers: Record<string, string> = {}): Promise<Response> {
  const rest = () => Promise.reject(new Error("not for Next"));
  const routes = [{ matches: () => true, handle: (request: PlainRequest) => handleApi(request, api.deps) }];
  server = createServer(createFrontDoor({ routes, siteUrl: undefined, headers: {}, rest }));
  await new Promise<void>((resolve) => server?.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return await fetch(`http://127.0.0.1:${port}/api/v1/usage/entries${search}`, {
    headers: { authorization: `Bearer ${API_KEY}`, ...headers },
  });
}

describe("an export", () => {
  test("NDJSON holds every row of every page once, one a line", async () => {
    api.convex.on("entries:exportPage", page(1, 3, "c1"), page(2, 0, "c2"), page(3, 2, null));
    const response = await download("?format=ndjson&cycle=2026-10");
    expect(response.headers.get("content-type")).toBe("application/x-ndjson");
    expect(response.headers.get("content-disposition")).toBe('attachment; filename="usage-2026-10.ndjson"');
    const lines = (await response.text()).trimEnd().split("\n");
    expect(lines.map((line) => (JSON.parse(line) as { key: string }).key)).toEqual([
      "1-0",
      "1-1",
      "1-2",
      "3-0",
      "3-1",
    ]);
    expect(api.convex.calls.map(({ args }) => args.cursor)).toEqual([null, "c1", "c2"]);
  });

  test("names the cycle of its first page on all others", async () => {
    api.convex.on("entries:exportPage", page(1, 1, "c1"), page(2, 1, null));
    await (await download("?format=ndjson")).text();
    expect(api.convex.calls.map(({ args }) => args.cycle)).toEqual([undefined, "2026-10"]);
  });

  test("CSV has a header row and CRLF, and an empty cycle is the header alone", async () => {
    api.convex.on("entries:exportPage", page(1, 1, null));
    const text = await (await download("?format=csv")).text();
    expect(text).toBe(
      "id,at,feature,cycle,agreement,units,kind,code,class,rule,referrer,agent,job,corrects,review,key\r\n" +
        `${entry.id},2026-09-21T14:13:20.000Z,clicks,2026-10,agreement_1,1,click,sale,billable,` +
        "no rule against it,https://news.example/item/1,Mozilla/5.0,,,,1-0\r\n",
    );
    server?.close();
    api.convex.on("entries:exportPage", page(1, 0, null));
    expect(await (await download("?format=csv")).text()).toMatch(/^id,at,[^\r\n]*,key\r\n$/);
  });

  test("CSV: what a stranger sent runs in no spreadsheet and breaks no row; a correction stays a number", async () => {
    const origin = {
      ...entry.origin,
      referrer: '=HYPERLINK("http://evil.example","x")',
      agent: " \t@SUM(A1)\r\nx",
    };
    api.convex.on("entries:exportPage", {
      value: { ...entryPage, entries: [{ ...entry, units: -1, origin: { ...origin, code: "-2" } }] },
    });
    const text = await (await download("?format=csv")).text();
    expect(text).toContain(`,-1,click,'-2,`);
    expect(text).toContain(`,"'=HYPERLINK(""http://evil.example"",""x"")","' \t@SUM(A1)\r\nx",`);
  });

  test("reads a page only when the client takes it", async () => {
    const read: (string | null)[] = [];
    const response = await exportResponse(
      "ndjson",
      (cursor) => {
        read.push(cursor);
        const next = `c${read.length}`;
        return Promise.resolve({ ...entryPage, cursor: next } as never);
      },
      api.deps,
    );
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    expect(read).toEqual([null]);
    await reader.read();
    expect(read).toEqual([null]);
    await reader.read();
    expect(read).toEqual([null, "c1"]);
    await reader.cancel();
    expect(read).toEqual([null, "c1"]);
  });

  test("what fails before the first row is a problem; what fails later cuts the connection and is logged", async () => {
    api.convex.on("entries:exportPage", { errorMessage: "broken" });
    expect((await download("?format=csv")).status).toBe(503);
    server?.close();
    api.convex.on("entries:exportPage", page(1, 2, "c1"), { errorMessage: "broken" });
    const response = await download("?format=csv");
    expect(response.status).toBe(200);
    await expect(response.text()).rejects.toThrow("terminated");
    expect(api.logged).toContainEqual(
      expect.objectContaining({ event: "export_cut", errorId: "error-id-1" }),
    );
  });

  test("comes whole: a cursor or a limit is refused", async () => {
    for (const search of ["?format=csv&limit=5", "?format=ndjson&cursor=1_1_clicks_a"]) {
      const answer = await api.call(`/usage/entries${search}`);
      expect(answer.status).toBe(400);
      expect(answer.json.errors[0].path).toMatch(/^(?:limit|cursor)$/);
    }
    expect(api.convex.calls).toEqual([]);
  });
});

test.each([
  [null, "json"],
  ["*/*", "json"],
  ["text/html, text/csv;q=0.9", "csv"],
  ["application/x-ndjson", "ndjson"],
  ["application/json, text/csv", "json"],
  ["text/csv;q=0, application/ndjson", "ndjson"],
] as const)("Accept %j asks for %s", (accept, format) => {
  expect(wantedFormat(accept)).toBe(format);
});

test.each([
  "?cycle=2026-13",
  "?cycle=october",
  "?feature=coffee",
  "?limit=101",
  "?limit=0",
  "?cursor=x",
  "?all=1",
])("GET /usage/entries%s is refused before anything is read", async (search) => {
  const answer = await api.call(`/usage/entries${search}`);
  expect(answer.status).toBe(400);
  expect(api.convex.calls).toEqual([]);
});

test("an entry of nobody's, or of another account, is a 404", async () => {
  api.convex.on("entries:why", { value: null });
  const answer = await api.call(`/usage/entries/${entry.id}`);
  expect(answer.status).toBe(404);
});

test("why: the words name the click, the rule, the meter and the report, in UTC", async () => {
  const facts = {
    cycle: { name: "2026-10", startMs: Date.UTC(2026, 9, 20, 15, 29), endMs: Date.UTC(2026, 10, 20, 15, 29) },
    agreement: { planKey: "pro", fromMs: 0 },
    cap: { capUnits: 5000, billedUnits: 1 },
    job: null,
    moved: null,
    ledgerUnits: 8460,
    confirmed: { totalUnits: 8457, atMs: Date.UTC(2026, 9, 21) },
    proof: { isAtProvider: true, standing: "confirmed", reading: null },
  };
  api.convex.on("entries:why", { value: { entry, facts } });
  const { json } = await api.call(`/usage/entries/${entry.id}`);
  expect(json.why.title).toBe("Billed: 1 click");
  expect(json.why.reasons.join(" ")).toContain("2026-10-20 15:29:00 UTC");
  expect(json.why.reasons.join(" ")).toContain("8,457 clicks");
  expect(json.why.reasons.join(" ")).toContain("8,460 clicks");
  expect(json.cap).toEqual(facts.cap);
});
