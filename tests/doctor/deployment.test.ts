import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { type EngineProcess, startEngineProcess } from "../helpers/engine-process.ts";
import { openEmulator, type TestEmulator } from "../kinde/emulator/emulator-server.ts";
import { examine, type ExamineOptions, SERVER_SECRET } from "./doctor-run.ts";
import { answerJson, standIn } from "./stand-in-server.ts";

const OPERATOR_KEY = `hf_op_${"k".repeat(43)}`;

let folder: string;
let emulator: TestEmulator;
const engines: EngineProcess[] = [];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "holdfast-doctor-"));
  emulator = await openEmulator();
});
afterEach(async () => {
  await Promise.all(engines.splice(0).map((engine) => engine.kill()));
});
afterAll(async () => {
  await emulator.close();
  rmSync(folder, { recursive: true, force: true });
});

const rightEnv = () => ({
  HOLDFAST_SERVER_SECRETS: SERVER_SECRET,
  HOLDFAST_OPERATOR_KEY_HASH: createHash("sha256").update(OPERATOR_KEY).digest("hex"),
  KINDE_ISSUER_URL: emulator.url,
  KINDE_M2M_CLIENT_ID: "machine_client",
  KINDE_M2M_CLIENT_SECRET: "b".repeat(40),
  KINDE_SITE_URL: "http://localhost:3000",
});

let files = 0;
async function deployment(env: Record<string, string> = {}, functions = "convex"): Promise<string> {
  const dataFile = join(folder, `${files++}.sqlite`);
  const engine = await startEngineProcess({ "data-file": dataFile, functions }, { ...rightEnv(), ...env });
  engines.push(engine);
  return engine.url;
}

const CONVEX_STEPS = [
  "Convex deployment",
  "server secret",
  "deployment variables",
  "operator key",
  "auth config of Convex",
];

async function examineConvex(
  convexUrl: string,
  env: Record<string, string> = {},
  options: ExamineOptions = {},
) {
  const settings = {
    CONVEX_URL: convexUrl,
    KINDE_ISSUER_URL: emulator.url,
    HOLDFAST_SERVER_SECRET: SERVER_SECRET,
  };
  const { steps, step } = await examine({ ...settings, ...env }, options);
  const brief = steps
    .filter(({ name }) => CONVEX_STEPS.includes(name))
    .map((found) => `${found.name}: ${found.kind === "failed" ? found.fault : found.kind}`);
  return { step, brief };
}

test("a deployment that is right", async () => {
  const { brief } = await examineConvex(await deployment(), {}, { operatorKey: OPERATOR_KEY });
  expect(brief).toEqual(CONVEX_STEPS.map((name) => `${name}: ok`));
});

test("a server secret and an operator key that it does not accept", async () => {
  const convexUrl = await deployment();
  const wrong = await examineConvex(convexUrl, { HOLDFAST_SERVER_SECRET: "f".repeat(64) });
  expect(wrong.brief).toContain("server secret: server_secret_refused");
  const other = await examineConvex(convexUrl, {}, { operatorKey: `hf_op_${"x".repeat(43)}` });
  expect(other.brief).toContain("operator key: operator_key_refused");
});

test("variables that it lacks are named", async () => {
  const { step } = await examineConvex(await deployment({ KINDE_M2M_CLIENT_ID: "", KINDE_SITE_URL: "" }));
  expect(step("deployment variables")).toMatchObject({
    fault: "variable_missing",
    detail: "the deployment lacks KINDE_M2M_CLIENT_ID, KINDE_SITE_URL",
  });
});

test("another issuer, there and in its auth config", async () => {
  const { brief } = await examineConvex(await deployment({ KINDE_ISSUER_URL: "https://other.kinde.com" }));
  expect(brief).toContain("deployment variables: auth_issuer_differs");
  expect(brief).toContain("auth config of Convex: auth_issuer_differs");
});

test("an auth config for another audience", async () => {
  const functions = join(folder, "functions-other-audience");
  mkdirSync(functions);
  const config =
    "export default { providers: [{ domain: process.env.KINDE_ISSUER_URL, applicationID: 'other' }] };";
  writeFileSync(join(functions, "auth.config.ts"), config);
  const { brief } = await examineConvex(await deployment({}, functions));
  expect(brief).toContain("auth config of Convex: auth_audience_differs");
});

test("functions of another version, something that is no deployment, and nothing at all", async () => {
  const old = await deployment({}, "tests/contract/functions");
  expect((await examineConvex(old)).brief).toContain("server secret: functions_missing");

  const page = await standIn((_request, response) => answerJson(response, {}, 404));
  expect((await examineConvex(page.url)).brief[0]).toBe("Convex deployment: unexpected_answer");
  await page.close();

  const { brief } = await examineConvex(page.url);
  expect(brief).toEqual([
    "Convex deployment: connection_refused",
    ...CONVEX_STEPS.slice(1).map((name) => `${name}: skipped`),
  ]);
});
