import { expect, test } from "vitest";
import { lastLine, runScript } from "./run-script.ts";

const run = (...args: string[]) => runScript(["--import", "tsx", "scripts/engine-room.ts", ...args]);
const TIMEOUT_MS = 60_000;

const PIPELINE = { plan: "pro", balance: 500, receipts: 9, stored: 3, copies: 6, grants: 1, ignored: 1 };

test(
  "S10: npm run engine-room prints 2,950 beside 500, step by step, and the figures as JSON",
  async () => {
    const { status, stdout } = await run("--json");
    expect(status).toBe(0);
    const result = JSON.parse(lastLine(stdout));
    expect(result.pipeline).toEqual(PIPELINE);
    expect(result.naive).toMatchObject({ plan: "pro", balance: 2_950 });
    expect(result.naive.afterEach).toHaveLength(9);
    expect(result.naive.afterEach[1]).toEqual({ plan: "pro", balance: 10 });
    expect(result.naive.afterEach[6]).toEqual({ plan: "free", balance: 1_970 });
    const lines = stdout.split("\n");
    expect(lines).toEqual(
      expect.arrayContaining(["naive: Pro with 2,950 credits", "pipeline: Pro with 500 credits"]),
    );
    const stopped = lines.find((line) => line.trimStart().startsWith("2 "));
    expect(stopped).toMatch(/plan change to Pro \* +Pro +10 +Free +10 +stored; undone, due again/);
  },
  TIMEOUT_MS,
);

test(
  "S11: --shuffle runs another order, the same one for the same seed, and the pipeline ends the same",
  async () => {
    const [one, again] = await Promise.all([run("--shuffle", "7", "--json"), run("--shuffle=7", "--json")]);
    expect([one.status, again.status]).toEqual([0, 0]);
    expect(again.stdout).toBe(one.stdout);
    expect(JSON.parse(lastLine(one.stdout)).pipeline).toEqual(PIPELINE);
    expect(one.stdout).toContain("in the order of seed 7");
  },
  TIMEOUT_MS,
);

test("a seed that is none is refused with one line", async () => {
  const { status, stderr } = await run("--shuffle", "tomorrow");
  expect({ status, stderr }).toEqual({
    status: 2,
    stderr: 'engine-room: --shuffle must be a whole number, not "tomorrow"\n',
  });
});
