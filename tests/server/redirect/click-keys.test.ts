import { expect, test } from "vitest";
import { clickKeys } from "../../../lib/server/redirect/click-keys.ts";

test("no two keys share a byte of a draw, and a new draw begins when one is used up", () => {
  let draws = 0;
  const newKey = clickKeys((bytes) => {
    draws += 1;
    for (let at = 0; at < bytes.length; at += 4) bytes.writeUInt32BE(draws * 65_536 + at, at);
  });
  const keys = Array.from({ length: 600 }, newKey);
  expect(draws).toBe(3);
  expect(new Set(keys).size).toBe(600);
  expect(keys.every((key) => /^[0-9a-f]{32}$/.test(key))).toBe(true);
  expect(keys[1]).toBe("0001001000010014000100180001001c");
});
