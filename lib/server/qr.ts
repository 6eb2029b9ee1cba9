import { crc32, deflateSync } from "node:zlib";
import { create, type QRCodeErrorCorrectionLevel } from "qrcode";
import type { FieldError } from "../shared/problem.ts";
import { checkUnits } from "../shared/units.ts";

/*
 * QR codes of short URLs. The library makes the modules; the two pictures are drawn here. Its PNG has 32 bits a pixel
 * and modules of uneven width wherever the size is no multiple of their number. These have 1 bit, and modules of equal
 * whole pixels: what does not divide goes to the margin, so the picture has exactly the size asked for.
 */

const LEVELS = ["L", "M", "Q", "H"] as const satisfies readonly QRCodeErrorCorrectionLevel[];

export interface QrOptions {
  /** Width and height in pixels, 64 to 2,048. */
  readonly sizePx: number;
  /** Light modules on each side, 0 to 16. The standard asks for 4; with fewer, what is around has to be light. */
  readonly marginModules: number;
  /** How much of the picture may be damaged: about 7, 15, 25 or 30 in a hundred. */
  readonly level: (typeof LEVELS)[number];
}

export const QR_DEFAULTS: QrOptions = { sizePx: 256, marginModules: 4, level: "M" };

export type ParsedQrOptions =
  | { readonly kind: "ok"; readonly options: QrOptions }
  | { readonly kind: "refused"; readonly errors: readonly FieldError[] };

/** Reads `size`, `margin` and `level` of a query; what is not given has its default. All faults are named at once. */
export function parseQrOptions(query: URLSearchParams): ParsedQrOptions {
  const errors: FieldError[] = [];
  const whole = (path: string, fallback: number, minimum: number, maximum: number): number => {
    const text = query.get(path);
    if (text === null) return fallback;
    const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
    const refusal = checkUnits(path, value, { minimum, maximum });
    if (refusal !== null) errors.push({ path, message: refusal.message });
    return value;
  };
  const sizePx = whole("size", QR_DEFAULTS.sizePx, 64, 2048);
  const marginModules = whole("margin", QR_DEFAULTS.marginModules, 0, 16);
  const asked = (query.get("level") ?? QR_DEFAULTS.level).toUpperCase();
  const level = LEVELS.find((one) => one === asked);
  if (level === undefined)
    errors.push({ path: "level", message: `level must be one of ${LEVELS.join(", ")}` });
  if (errors.length > 0 || level === undefined) return { kind: "refused", errors };
  return { kind: "ok", options: { sizePx, marginModules, level } };
}

/** The code as SVG. It scales, so any size is large enough. Throws when the text is too long for a QR code. */
export function qrSvg(text: string, { sizePx, marginModules, level }: QrOptions): string {
  const modules = modulesOf(text, level);
  const side = modules.size + 2 * marginModules;
  const path = darkRuns(modules)
    .map(({ x, y, length }) => `M${x + marginModules} ${y + marginModules}h${length}v1h-${length}z`)
    .join("");
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" width="${sizePx}" height="${sizePx}" viewBox="0 0 ${side} ${side}" ` +
    `shape-rendering="crispEdges"><path fill="#fff" d="M0 0h${side}v${side}H0z"/><path fill="#000" d="${path}"/></svg>\n`
  );
}

export type QrPng =
  | { readonly kind: "ok"; readonly png: Uint8Array<ArrayBuffer> }
  /** The size has fewer pixels than the code and its margin have modules. */
  | { readonly kind: "refused"; readonly error: FieldError };

/** The code as PNG. Throws when the text is too long for a QR code. */
export function qrPng(text: string, { sizePx, marginModules, level }: QrOptions): QrPng {
  const modules = modulesOf(text, level);
  const side = modules.size + 2 * marginModules;
  const scale = Math.floor(sizePx / side);
  if (scale === 0) {
    const message = `size must be at least ${side} for this code, margin and level`;
    return { kind: "refused", error: { path: "size", message } };
  }
  return { kind: "ok", png: encodePng(sizePx, pixelRows(modules, sizePx, scale)) };
}

interface Modules {
  readonly size: number;
  readonly isDark: (x: number, y: number) => boolean;
}

function modulesOf(text: string, level: QrOptions["level"]): Modules {
  const { modules } = create(text, { errorCorrectionLevel: level });
  const { size, data } = modules;
  return { size, isDark: (x, y) => data[y * size + x] !== 0 };
}

function darkRuns({ size, isDark }: Modules): { x: number; y: number; length: number }[] {
  const runs: { x: number; y: number; length: number }[] = [];
  for (let y = 0; y < size; y++) {
    for (let x = 0; x < size; x++) {
      let length = 0;
      while (x + length < size && isDark(x + length, y)) length++;
      if (length > 0) runs.push({ x, y, length });
      x += length;
    }
  }
  return runs;
}

/** Rows of a 1-bit greyscale picture, each behind its filter byte (0: none). A set bit is white. */
function pixelRows(modules: Modules, sizePx: number, scale: number): Uint8Array {
  const rowBytes = 1 + Math.ceil(sizePx / 8);
  const rows = new Uint8Array(rowBytes * sizePx).fill(0xff);
  const startPx = Math.floor((sizePx - modules.size * scale) / 2);
  const blank = new Uint8Array(rowBytes).fill(0xff).fill(0, 0, 1);
  for (let py = 0; py < sizePx; py++) rows.set(blank, py * rowBytes);
  for (const { x, y, length } of darkRuns(modules)) {
    for (let py = startPx + y * scale; py < startPx + (y + 1) * scale; py++) {
      for (let px = startPx + x * scale; px < startPx + (x + length) * scale; px++) {
        rows[py * rowBytes + 1 + (px >> 3)]! &= ~(0x80 >> (px & 7));
      }
    }
  }
  return rows;
}

const PNG_SIGNATURE = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];

function encodePng(sizePx: number, rows: Uint8Array): Uint8Array<ArrayBuffer> {
  const header = new Uint8Array(13);
  const view = new DataView(header.buffer);
  view.setUint32(0, sizePx);
  view.setUint32(4, sizePx);
  header.set([1, 0, 0, 0, 0], 8); // 1 bit, greyscale, the one compression and filter there is, not interlaced.
  const chunks = [chunk("IHDR", header), chunk("IDAT", deflateSync(rows)), chunk("IEND", new Uint8Array())];
  const png = new Uint8Array(PNG_SIGNATURE.length + chunks.reduce((sum, { length }) => sum + length, 0));
  png.set(PNG_SIGNATURE);
  let offset = PNG_SIGNATURE.length;
  for (const bytes of chunks) {
    png.set(bytes, offset);
    offset += bytes.length;
  }
  return png;
}

/** Length of the data, type, data, and the checksum over type and data. */
function chunk(type: string, data: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(12 + data.length);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, data.length);
  bytes.set(new TextEncoder().encode(type), 4);
  bytes.set(data, 8);
  view.setUint32(8 + data.length, crc32(bytes.subarray(4, 8 + data.length)));
  return bytes;
}
