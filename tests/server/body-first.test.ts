import { describe, expect, test } from "vitest";
import { withBodyRead } from "../../lib/server/body-first.ts";
import type { PlainRequest } from "../../lib/server/http.ts";

const BYTES_MAX = 10;

/** A request whose body comes in these parts; `taken` counts how many were asked for. */
function request(parts: readonly string[], { declared = "", breaks = false } = {}) {
  const taken = { count: 0 };
  async function* body() {
    for (const part of parts) {
      taken.count += 1;
      yield await Promise.resolve(new TextEncoder().encode(part));
    }
    if (breaks) throw new Error("the client went");
  }
  const headers = { get: (name: string) => (name === "content-length" && declared !== "" ? declared : null) };
  const sent: PlainRequest = { method: "POST", url: "http://localhost/", headers, body: body() };
  return { sent, taken };
}

async function textOf({ body }: PlainRequest): Promise<string> {
  let text = "";
  for await (const chunk of body ?? []) text += new TextDecoder().decode(chunk);
  return text;
}

describe("a body that is read first", () => {
  test("is there whole, and is the same", async () => {
    const { sent, taken } = request(["ab", "cd", "ef"], { declared: "6" });
    const read = await withBodyRead(sent, BYTES_MAX);
    expect(taken.count).toBe(3);
    expect([await textOf(read), read.headers]).toEqual(["abcdef", sent.headers]);
  });

  test("beyond the maximum is read until that shows", async () => {
    const { sent, taken } = request(["12345", "67890", "1", "2", "3"]);
    const read = await withBodyRead(sent, BYTES_MAX);
    expect([taken.count, await textOf(read)]).toEqual([3, "12345678901"]);
  });

  test("beyond the maximum by its declared length is not read", async () => {
    const { sent, taken } = request(["12345"], { declared: "11" });
    expect([await withBodyRead(sent, BYTES_MAX), taken.count]).toEqual([sent, 0]);
  });

  test("that breaks is one that breaks for the handler too, in the same place", async () => {
    const read = await withBodyRead(request(["ab"], { breaks: true }).sent, BYTES_MAX);
    const chunks: Uint8Array[] = [];
    const reading = (async () => {
      for await (const chunk of read.body ?? []) chunks.push(chunk);
    })();
    await expect(reading).rejects.toThrow("the client went");
    expect(chunks).toHaveLength(1);
  });

  test("is none where there is none", async () => {
    const { sent } = request([]);
    const none = { ...sent, body: null };
    expect(await withBodyRead(none, BYTES_MAX)).toBe(none);
  });
});
