import jsQR from "jsqr";
import { PNG } from "pngjs";
import { describe, expect, test } from "vitest";
import { checkCustomCode, CODE_CHARS_MAX, shortUrl } from "../../lib/ledger/code.ts";
import { parseQrOptions, QR_DEFAULTS, qrPng, qrSvg, type QrOptions } from "../../lib/server/qr.ts";
import { seededRandom } from "../helpers/random-values.ts";

const BASE = "https://go.example.org";
const LEVELS = ["L", "M", "Q", "H"] as const;
const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
const random = seededRandom(40);

function codeOf(length: number): string {
  const code = Array.from({ length }, () => LETTERS[Math.floor(random() * LETTERS.length)]).join("");
  expect(checkCustomCode(code).kind).toBe("ok");
  return code;
}

function pngOf(text: string, options: Partial<QrOptions>): PNG {
  const made = qrPng(text, { ...QR_DEFAULTS, ...options });
  if (made.kind !== "ok") throw new Error(made.error.message);
  return PNG.sync.read(Buffer.from(made.png), { checkCRC: true });
}

interface Picture {
  readonly width: number;
  readonly data: Uint8Array;
}

const decode = ({ width, data }: Picture): string | undefined =>
  jsQR(new Uint8ClampedArray(data), width, width, { inversionAttempts: "dontInvert" })?.data;

/** Draws our SVG, which has nothing but dark runs on white, with so many pixels a module. */
function drawSvg(svg: string, scale: number): Picture {
  const width = Number(/viewBox="0 0 (\d+) \1"/.exec(svg)![1]) * scale;
  const data = new Uint8Array(width * width * 4).fill(255);
  const path = /<path fill="#000" d="([^"]*)"/.exec(svg)![1]!;
  const runs = [...path.matchAll(/M(\d+) (\d+)h(\d+)v1h-\3z/g)];
  expect(runs.map(([text]) => text).join("")).toBe(path);
  for (const [, x, y, length] of runs) {
    for (let py = Number(y) * scale; py < (Number(y) + 1) * scale; py++) {
      const start = (py * width + Number(x) * scale) * 4;
      for (let at = start; at < start + Number(length) * scale * 4; at += 4) data.fill(0, at, at + 3);
    }
  }
  return { width, data };
}

describe.each(LEVELS)("B40: level %s", (level) => {
  test("codes of every length decode to the short URL, as PNG and as SVG", () => {
    for (let length = 1; length <= CODE_CHARS_MAX; length++) {
      const url = shortUrl(BASE, codeOf(length));
      const drawn = drawSvg(qrSvg(url, { ...QR_DEFAULTS, level }), 3);
      expect(decode(drawn)).toBe(url);
      const png = pngOf(url, { level, sizePx: drawn.width });
      expect(png.data.equals(drawn.data)).toBe(true);
    }
  });

  test.each(["LoKE2", "ABC", "-_-", "7"])("the custom code %s decodes to the short URL", (code) => {
    const url = shortUrl(BASE, code);
    expect(decode(pngOf(url, { level }))).toBe(url);
  });

  test("every size and margin decodes, and the picture has the size asked for", () => {
    const url = shortUrl(BASE, "LoKE2");
    for (const [sizePx, marginModules] of [
      [64, 1],
      [64, 4],
      [101, 0],
      [257, 3],
      [400, 16],
    ] as const) {
      const png = pngOf(url, { level, sizePx, marginModules });
      expect([png.width, png.height, decode(png)]).toEqual([sizePx, sizePx, url]);
      const svg = qrSvg(url, { level, sizePx, marginModules });
      expect(svg).toContain(`width="${sizePx}" height="${sizePx}"`);
    }
  });
});

test("B40: the largest picture decodes", () => {
  const url = shortUrl(BASE, "x".repeat(CODE_CHARS_MAX));
  const png = pngOf(url, { sizePx: 2048 });
  expect([png.width, decode(png)]).toEqual([2048, url]);
});

test("modules are whole and equal: every edge in the PNG lies on the grid", () => {
  const png = pngOf(shortUrl(BASE, "LoKE2"), { sizePx: 501, marginModules: 4 });
  const edges = new Set<number>();
  for (let y = 0; y < 501; y++) {
    for (let x = 1; x < 501; x++) {
      if (png.data[(y * 501 + x) * 4] !== png.data[(y * 501 + x - 1) * 4]) edges.add(x);
    }
  }
  const [first, ...others] = [...edges].toSorted((a, b) => a - b);
  const scale = Math.floor(501 / (29 + 8));
  expect(others.every((edge) => (edge - first!) % scale === 0)).toBe(true);
});

test("a PNG with fewer pixels than modules is refused with the size it needs, an SVG is not", () => {
  const options = { sizePx: 64, marginModules: 16, level: "H" } as const;
  const url = shortUrl(BASE, "x".repeat(CODE_CHARS_MAX));
  const made = qrPng(url, options);
  expect(made).toMatchObject({ kind: "refused", error: { path: "size" } });
  const needed = Number(/at least (\d+)/.exec(made.kind === "refused" ? made.error.message : "")![1]);
  expect(qrPng(url, { ...options, sizePx: needed - 1 }).kind).toBe("refused");
  expect(qrPng(url, { ...options, sizePx: needed }).kind).toBe("ok");
  expect(qrSvg(url, options)).toContain('width="64"');
});

describe("options", () => {
  test("what is not given has its default, and letters may be small", () => {
    expect(parseQrOptions(new URLSearchParams())).toEqual({ kind: "ok", options: QR_DEFAULTS });
    expect(parseQrOptions(new URLSearchParams("size=2048&margin=0&level=q"))).toEqual({
      kind: "ok",
      options: { sizePx: 2048, marginModules: 0, level: "Q" },
    });
  });

  test.each([
    ["size=63", "size"],
    ["size=2049", "size"],
    ["size=64.5", "size"],
    ["size=1e3", "size"],
    ["size=", "size"],
    ["size=-64", "size"],
    ["margin=17", "margin"],
    ["margin=-1", "margin"],
    ["margin=NaN", "margin"],
    ["level=X", "level"],
    ["level=", "level"],
  ])("%s is refused by name", (query, path) => {
    expect(parseQrOptions(new URLSearchParams(query))).toMatchObject({ kind: "refused", errors: [{ path }] });
  });

  test("all faults are named at once", () => {
    const parsed = parseQrOptions(new URLSearchParams("size=1&margin=99&level=z"));
    expect(parsed.kind === "refused" && parsed.errors.map(({ path }) => path)).toEqual([
      "size",
      "margin",
      "level",
    ]);
  });
});
