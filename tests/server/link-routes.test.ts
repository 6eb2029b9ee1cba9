import jsQR from "jsqr";
import { PNG } from "pngjs";
import { describe, expect, test } from "vitest";
import { handleApi } from "../../lib/server/api/router.ts";
import { toResponse } from "../../lib/server/http.ts";
import { API_KEY, apiHarness } from "./helpers/api.ts";
import { link, LINK_ID } from "./helpers/samples.ts";

const api = await apiHarness();
const LEVELS = ["L", "M", "Q", "H"];

/** The picture as bytes, which the harness would take for text. */
async function picture(path: string): Promise<Response> {
  const headers = { authorization: `Bearer ${API_KEY}` };
  const request = new Request(`http://localhost:3000/api/v1${path}`, { headers });
  return toResponse(await handleApi(request, api.deps));
}

describe("QR codes of links", () => {
  test.each(LEVELS)("B40: the PNG decodes to the short URL at level %s", async (level) => {
    api.convex.on("links:get", { value: link });
    const answer = await picture(`/links/${LINK_ID}/qr.png?size=300&margin=2&level=${level}`);
    expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "image/png"]);
    const { width, height, data } = PNG.sync.read(Buffer.from(await answer.arrayBuffer()));
    expect([width, height]).toEqual([300, 300]);
    expect(jsQR(new Uint8ClampedArray(data), width, height)?.data).toBe(link.url);
  });

  test("the SVG is a picture that nobody keeps", async () => {
    api.convex.on("links:get", { value: link });
    const answer = await picture(`/links/${LINK_ID}/qr.svg`);
    expect(answer.headers.get("content-type")).toBe("image/svg+xml");
    expect(answer.headers.get("cache-control")).toBe("private, no-store");
    expect(await answer.text()).toMatch(/^<svg [^>]*width="256"/);
  });

  test.each(["svg", "png"])(
    "all faults of the options of a %s are named, and no link is read",
    async (format) => {
      const answer = await api.call(`/links/${LINK_ID}/qr.${format}?size=63&margin=x&level=Z`);
      expect(answer.status).toBe(400);
      expect(answer.json.errors.map((error: { path: string }) => error.path)).toEqual([
        "size",
        "margin",
        "level",
      ]);
      expect(api.convex.calls).toEqual([]);
    },
  );

  test("an option that does not exist, or is given twice, is a 400 that names it", async () => {
    for (const [query, path] of [
      ["colour=red", "colour"],
      ["size=64&size=128", "size"],
    ]) {
      const answer = await api.call(`/links/${LINK_ID}/qr.png?${query}`);
      expect([answer.status, answer.json.errors[0].path]).toEqual([400, path]);
    }
  });

  test("a size with fewer pixels than modules is a 400", async () => {
    api.convex.on("links:get", { value: { ...link, url: `https://hold.example/${"x".repeat(64)}` } });
    const answer = await api.call(`/links/${LINK_ID}/qr.png?size=64&margin=16&level=H`);
    expect([answer.status, answer.json.errors[0].path]).toEqual([400, "size"]);
  });

  test.each(["svg", "png"])("a link of somebody else has no %s", async (format) => {
    api.convex.on("links:get", { value: null });
    expect((await api.call(`/links/${LINK_ID}/qr.${format}`)).status).toBe(404);
  });
});

test("faults of a link come with the names of their fields", async () => {
  const errors = [{ path: "target", message: "target must start with http:// or https://" }];
  api.convex.on("links:create", { value: { kind: "invalid", errors } });
  const answer = await api.call("/links", { method: "POST", body: { target: "javascript:alert(1)" } });
  expect(answer.status).toBe(400);
  expect(answer.json).toMatchObject({ code: "invalid", errors });
});

test("a code that is taken is a 409", async () => {
  api.convex.on("links:create", { value: { kind: "code_taken", code: "ABC" } });
  const answer = await api.call("/links", {
    method: "POST",
    body: { target: "https://example.com", code: "ABC" },
  });
  expect([answer.status, answer.json.code]).toEqual([409, "code_taken"]);
});
