import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { freePort } from "../../scripts/support/ports.ts";
import { warmUp } from "../../scripts/support/warm-up.ts";

const secrets = { serverSecret: "s", operatorKey: "hf_op_test" };
const { signal } = new AbortController();

test("a warm-up that cannot open its account, or cannot reach the server, says so and ends", async () => {
  const nobody = `http://127.0.0.1:${await freePort()}`;
  const unopened = await warmUp({ webUrl: nobody, convexUrl: nobody, secrets, signal });
  expect(unopened).toMatch(/^0 jobs, then gave up \(lab:openWarmUp got no answer/);

  const deployment = createServer((_request, response) => response.end('{"status":"success","value":null}'));
  await new Promise<void>((resolve) => deployment.listen(0, "127.0.0.1", resolve));
  const convexUrl = `http://127.0.0.1:${(deployment.address() as AddressInfo).port}`;
  const unreached = await warmUp({ webUrl: nobody, convexUrl, secrets, signal });
  expect(unreached).toMatch(/^0 jobs, then gave up \(warm-up-\w+-0: no answer \(ECONNREFUSED\)\)$/);
  deployment.close();
});
