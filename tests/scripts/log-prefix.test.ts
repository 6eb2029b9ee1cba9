import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { describe, expect, test } from "vitest";
import { copyLines, LineSplitter, prefixOf } from "../../scripts/support/log-prefix.ts";

describe("lines of a child", () => {
  test("begin with its name, in colour only on a terminal", () => {
    expect(prefixOf("next", 0, false)).toBe("next         | ");
    expect(prefixOf("next", 0, true)).toContain("\u001B[36mnext");
  });

  test("come out whole, whatever the chunks", async () => {
    const from = new PassThrough();
    const to = new PassThrough();
    copyLines(from, to, "x | ");
    const bytes = Buffer.from("one\r\ntwö\n\nthree");
    for (const byte of bytes) from.write(Buffer.of(byte));
    from.end();
    from.once("close", () => to.end());
    expect(await text(to)).toBe("x | one\nx | twö\nx | three\n");
  });

  test("without an end are cut, so that memory stays bounded", () => {
    const splitter = new LineSplitter();
    const lines = splitter.push("a".repeat(200_000));
    expect(lines).toHaveLength(3);
    expect(splitter.end()[0]).toHaveLength(200_000 - 3 * 65_536);
  });
});
