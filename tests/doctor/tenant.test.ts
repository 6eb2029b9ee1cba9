import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeAll, describe, expect, test } from "vitest";
import { HANDLED_TYPES } from "../../lib/inbox/read-event.ts";
import type { Step } from "../../lib/doctor/report.ts";
import type { Catalogue } from "../../lib/kinde/emulator/catalogue.ts";
import { withTempFolder } from "../../scripts/support/temp-engine.ts";
import { addCustomer, control, machine } from "../kinde/emulator/calls.ts";
import { EMULATOR_ENV, openEmulator } from "../kinde/emulator/emulator-server.ts";
import { examine, examineAsProcess } from "./doctor-run.ts";
import { healthySite, standIn, tenantWith } from "./stand-in-server.ts";

interface Closable {
  close(): Promise<void>;
}
const open: Closable[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((it) => it.close()));
});

function kept<T extends Closable>(it: T): T {
  open.push(it);
  return it;
}

const siteRuns = async () => kept(await standIn(healthySite));

/** A tenant as it should be, and the site that it belongs to. */
async function tenant(
  env: Record<string, string> = {},
  { catalogue, webhook = true }: { catalogue?: Catalogue; webhook?: boolean } = {},
) {
  const site = await siteRuns();
  const endpoint: Record<string, string> = webhook
    ? { KINDE_EMULATOR_WEBHOOK_URL: `${site.url}/api/webhooks/kinde` }
    : {};
  const emulator = kept(
    await openEmulator({
      env: { KINDE_SITE_URL: site.url, ...endpoint, ...env },
      ...(catalogue === undefined ? {} : { catalogue }),
    }),
  );
  return { emulator, settings: { KINDE_ISSUER_URL: emulator.url, KINDE_SITE_URL: site.url } };
}

const failedWith = (fault: string) =>
  expect.objectContaining({ kind: "failed", fault, next: expect.any(String) });

describe("a tenant that is right", () => {
  test("every step is ok, but for Convex, which is not configured", async () => {
    const { emulator, settings } = await tenant();
    await addCustomer(emulator.url, "grace@example.com");
    const { status, stdout } = await examineAsProcess(settings, ["--json", "--data-dir", "/nowhere"]);
    expect(status).toBe(0);
    const { steps, failed } = JSON.parse(stdout) as { steps: Step[]; failed: number };
    expect(failed).toBe(0);
    expect(steps.map(({ name, kind }) => `${name}: ${kind}`)).toEqual([
      "Kinde variables: ok",
      "CONVEX_URL: skipped",
      "issuer: ok",
      "keys of the issuer: ok",
      "web application: ok",
      "sign-in: ok",
      "machine token: ok",
      "scopes: ok",
      "webhook: ok",
      "plans and features: ok",
      "site: ok",
    ]);
  });

  test("before the first customer plans cannot be seen, which is said and is no failure", async () => {
    const { settings } = await tenant();
    const { steps, step } = await examine(settings);
    expect(step("plans and features")).toMatchObject({
      kind: "skipped",
      next: expect.stringContaining("sign"),
    });
    expect(steps.filter(({ kind }) => kind === "failed")).toEqual([]);
  });

  test("without --json each step is a line, and variables may come from a file", async () => {
    const { settings } = await tenant();
    await withTempFolder(async (folder) => {
      const file = join(folder, "tenant.env");
      const lines = Object.entries({ ...settings, KINDE_CLIENT_SECRET: "short", KINDE_CLIENT_ID: "" });
      writeFileSync(file, lines.map(([name, value]) => `${name}=${value}`).join("\n"));
      const { status, stdout } = await examineAsProcess({}, ["--env-file", file, "--data-dir", folder]);
      expect(status).toBe(1);
      expect(stdout).toMatch(/^failed +KINDE_CLIENT_SECRET +must be 40 to 60 letters and digits/m);
      expect(stdout).toMatch(/^ok +issuer +http/m);
      expect(stdout).toMatch(/^ +next: /m);
      expect(stdout).toMatch(/\d+ ok, \d+ failed, \d+ skipped\n$/);
    });
  });
});

describe("a local installation", () => {
  const args = ["--data-dir", "/nowhere"];
  const noTenant = Object.fromEntries(Object.keys(EMULATOR_ENV).map((name) => [name, ""]));

  test("needs no check, and one line says so", async () => {
    const { status, stdout } = await examineAsProcess(noTenant, args);
    expect(status).toBe(0);
    expect(stdout).toMatch(/^Neither KINDE_\* nor CONVEX_URL is set: .* needs no check\.\n$/);
  });

  test("is a skipped step in JSON", async () => {
    const { status, stdout } = await examineAsProcess(noTenant, [...args, "--json"]);
    expect(status).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ ok: 0, failed: 0, skipped: 1, steps: [{ kind: "skipped" }] });
  });

  test("is none once a part of a tenant is named", async () => {
    const { status, stdout } = await examineAsProcess({ ...noTenant, KINDE_CLIENT_ID: "web" }, args);
    expect(status).toBe(1);
    expect(stdout).toMatch(/^failed +KINDE_ISSUER_URL /m);
  });

  test("is none once a file of variables is given: an empty one is checked", async () => {
    await withTempFolder(async (folder) => {
      const file = join(folder, "empty.env");
      writeFileSync(file, "");
      const { status } = await examineAsProcess(noTenant, [...args, "--env-file", file]);
      expect(status).toBe(1);
    });
  });
});

describe("variables", () => {
  test("a missing one, a secret of the wrong form and a malformed address are told apart", async () => {
    const { step } = await examine({
      KINDE_CLIENT_ID: "",
      KINDE_CLIENT_SECRET: "not-a-secret",
      KINDE_ISSUER_URL: "https://example.kinde.com/",
      CONVEX_URL: "https://happy-otter-1.convex.site",
    });
    expect(step("KINDE_CLIENT_ID")).toEqual(failedWith("variable_missing"));
    expect(step("KINDE_CLIENT_SECRET")).toEqual(failedWith("secret_format"));
    expect(step("KINDE_ISSUER_URL")).toEqual(failedWith("variable_malformed"));
    expect(step("CONVEX_URL")).toEqual(failedWith("variable_malformed"));
    expect(step("issuer")).toMatchObject({ kind: "skipped" });
  });
});

describe("a host that is not reached", () => {
  test("a name that DNS does not know", async () => {
    const { step } = await examine({ KINDE_ISSUER_URL: "https://no-such-tenant.invalid" });
    expect(step("issuer")).toEqual(failedWith("host_unknown"));
    expect(step("machine token")).toMatchObject({ kind: "skipped" });
  });

  test("a port where nobody listens", async () => {
    const gone = await standIn(healthySite);
    await gone.close();
    const { step } = await examine({ KINDE_ISSUER_URL: gone.url });
    expect(step("issuer")).toEqual(failedWith("connection_refused"));
  });

  test("one that says nothing", async () => {
    const silent = kept(await standIn(() => undefined));
    const { step } = await examine({ KINDE_ISSUER_URL: silent.url }, { timeoutMs: 300 });
    expect(step("issuer")).toEqual(failedWith("timeout"));
  });

  test("one without the certificate", async () => {
    const plain = kept(await standIn(healthySite));
    const { step } = await examine({ KINDE_ISSUER_URL: `https://127.0.0.1:${plain.port}` });
    expect(step("issuer")).toEqual(failedWith("tls"));
  });

  test("a connection that breaks", async () => {
    const rude = kept(await standIn((request) => request.socket.destroy()));
    const { step } = await examine({ KINDE_ISSUER_URL: rude.url });
    expect(step("issuer")).toEqual(failedWith("connection_lost"));
  });
});

describe("an issuer that is not right", () => {
  test.each([
    ["not_an_issuer", healthySite],
    ["wrong_issuer", tenantWith({ configuration: () => ({ issuer: "https://other.kinde.com" }) })],
  ])("%s", async (fault, listener) => {
    const other = kept(await standIn(listener));
    const { step } = await examine({ KINDE_ISSUER_URL: other.url });
    expect(step("issuer")).toEqual(failedWith(fault));
  });

  test("one that redirects", async () => {
    const moved = kept(
      await standIn((_request, response) =>
        response.writeHead(301, { location: "https://new.example.com/x" }).end(),
      ),
    );
    const { step } = await examine({ KINDE_ISSUER_URL: moved.url });
    expect(step("issuer")).toEqual(failedWith("redirected"));
    expect(step("issuer")?.detail).toContain("https://new.example.com");
  });

  test("one without keys", async () => {
    const empty = kept(await standIn(tenantWith({ keys: { keys: [] } })));
    const { step } = await examine({ KINDE_ISSUER_URL: empty.url });
    expect(step("issuer")).toMatchObject({ kind: "ok" });
    expect(step("keys of the issuer")).toEqual(failedWith("no_keys"));
  });
});

describe("the applications", () => {
  test("a wrong secret of the web application, and one of the machine", async () => {
    const { settings } = await tenant();
    const { step } = await examine({
      ...settings,
      KINDE_CLIENT_SECRET: "c".repeat(40),
      KINDE_M2M_CLIENT_SECRET: "d".repeat(40),
    });
    expect(step("web application")).toEqual(failedWith("client_refused"));
    expect(step("machine token")).toEqual(failedWith("client_refused"));
    expect(step("webhook")).toMatchObject({ kind: "skipped", detail: "because there is no machine token" });
  });

  test("a callback that is not allowed", async () => {
    const { settings } = await tenant({ KINDE_SITE_URL: "http://localhost:9" });
    const { step } = await examine(settings);
    expect(step("sign-in")).toEqual(failedWith("sign_in_refused"));
    expect(JSON.stringify(step("sign-in"))).toContain("/api/auth/kinde_callback");
  });

  test("an API that the machine is not authorized for", async () => {
    const { settings } = await tenant();
    const { step } = await examine({ ...settings, KINDE_API_AUDIENCE: "https://other.kinde.com/api" });
    expect(step("machine token")).toEqual(failedWith("audience_missing"));
  });

  test("a token without the audience of the management API", async () => {
    const { settings } = await tenant({ KINDE_EMULATOR_STRICT: "off" });
    const { step } = await examine({ ...settings, KINDE_API_AUDIENCE: "elsewhere" });
    // Such a tenant gives the token; only the API says that it is none of its own.
    expect(step("machine token")).toMatchObject({ kind: "ok" });
    expect(step("webhook")).toEqual(failedWith("audience_missing"));
  });

  test("scopes that are missing are named", async () => {
    const { settings } = await tenant({
      KINDE_EMULATOR_MACHINE_SCOPES:
        "read:users read:billing_entitlements read:billing_agreements read:meter_usage",
    });
    const { step } = await examine(settings);
    expect(step("scopes")).toEqual(failedWith("scope_missing"));
    expect(step("scopes")?.detail).toMatch(/lacks create:meter_usage$/);
    expect(step("webhook")).toMatchObject({
      kind: "skipped",
      detail: expect.stringContaining("read:webhooks"),
    });
  });
});

describe("the webhook", () => {
  const LIVE = "https://app.example.com";

  test("none at all, then one that asks for too little", async () => {
    const { emulator, settings } = await tenant({}, { webhook: false });
    expect((await examine(settings)).step("webhook")).toEqual(failedWith("webhook_missing"));
    const call = await machine(emulator.url);
    await call("/api/v1/webhooks", {
      endpoint: `${settings.KINDE_SITE_URL}/api/webhooks/kinde`,
      event_types: HANDLED_TYPES.filter((type) => type !== "customer.plan_changed"),
      name: "Holdfast",
    });
    const { step } = await examine(settings);
    expect(step("webhook")).toEqual(failedWith("webhook_types_missing"));
    expect(step("webhook")?.detail).toContain("customer.plan_changed");
  });

  test("one that leads to another host than the site", async () => {
    const { settings } = await tenant();
    const { step } = await examine({ ...settings, KINDE_SITE_URL: LIVE }, { timeoutMs: 3_000 });
    expect(step("webhook")).toEqual(failedWith("webhook_elsewhere"));
  });

  test("one that is switched off", async () => {
    const site = await siteRuns();
    const dead = kept(await standIn((_request, response) => response.writeHead(500).end()));
    const emulator = kept(
      await openEmulator({
        env: {
          KINDE_SITE_URL: site.url,
          KINDE_EMULATOR_WEBHOOK_URL: `${dead.url}/api/webhooks/kinde`,
          KINDE_EMULATOR_WEBHOOK_TIME_SCALE: "0.000001",
        },
      }),
    );
    const disabled = async () => {
      const { json } = await control(emulator.url)("/control/webhooks");
      return (json.endpoints as { disabledAtMs: number | null }[]).some(
        ({ disabledAtMs }) => disabledAtMs !== null,
      );
    };
    for (let person = 0; !(await disabled()); person += 1) {
      await addCustomer(emulator.url, `person${person}@example.com`);
      // Failures count by the clock of the test.
      emulator.advance(40 * 3_600_000);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    const { step } = await examine({ KINDE_ISSUER_URL: emulator.url, KINDE_SITE_URL: site.url });
    expect(step("webhook")).toEqual(failedWith("webhook_disabled"));
  });
});

describe("plans and features", () => {
  let plan: Catalogue["plans"][number];
  beforeAll(() => {
    const feature = { name: "Tokens", limit: 10, metered: true, unitAmountCents: 0 };
    plan = { key: "my_plan", name: "Mine", monthlyPriceCents: 0, features: [{ ...feature, key: "tokens" }] };
  });

  test("a feature that no plan has, and a plan without credits", async () => {
    const poor = await tenant({}, { catalogue: { signUpPlan: plan.key, plans: [plan] } });
    await addCustomer(poor.emulator.url, "grace@example.com");
    const missing = (await examine(poor.settings)).step("plans and features");
    expect(missing).toEqual(failedWith("feature_missing"));
    expect(missing?.detail).toContain("clicks");

    const clicks = { ...plan.features[0]!, key: "clicks", name: "Clicks" };
    const rich = await tenant(
      {},
      {
        catalogue: { signUpPlan: plan.key, plans: [{ ...plan, features: [...plan.features, clicks] }] },
      },
    );
    await addCustomer(rich.emulator.url, "grace@example.com");
    expect((await examine(rich.settings)).step("plans and features")).toEqual(failedWith("plan_unknown"));
    const told = await examine({ ...rich.settings, HOLDFAST_ALLOWANCES: "my_plan=10" });
    expect(told.step("plans and features")).toMatchObject({ kind: "ok" });
  });
});

describe("the site", () => {
  test.each([
    ["redirected", 308, {}],
    ["unexpected_answer", 200, { hello: "world" }],
    ["site_down", 503, { status: "down", parts: { convex: { reason: "this server is refused" } } }],
  ])("%s", async (fault, status, body) => {
    const { emulator } = await tenant();
    const site = kept(
      await standIn((_request, response) =>
        response
          .writeHead(status, { "content-type": "application/json", location: "https://www.example.com/" })
          .end(JSON.stringify(body)),
      ),
    );
    const { step } = await examine({ KINDE_ISSUER_URL: emulator.url, KINDE_SITE_URL: site.url });
    expect(step("site")).toEqual(failedWith(fault));
  });
});
