import { DEFAULT_ALLOWANCES, parseAllowances } from "../inbox/allowance.ts";
import { hashApiKey } from "../server/api-keys.ts";
import { checkPlans, checkWebhook, type Management } from "./billing.ts";
import {
  checkAuthConfig,
  checkDeployment,
  checkOperatorKey,
  checkServerSecret,
  type DeploymentSettings,
  judgeSettings,
} from "./deployment.ts";
import { checkIssuer, checkKeys } from "./issuer.ts";
import { checkMachineToken, checkScopes } from "./machine.ts";
import type { Probe } from "./probe.ts";
import { type Finding, skipped, type Step } from "./report.ts";
import { checkSignIn, checkWebClient } from "./sign-in.ts";
import { checkSite } from "./site.ts";
import { type Environment, isUsable, variableSteps } from "./variables.ts";

export interface DoctorInput {
  readonly env: Environment;
  /** Of the data directory or the environment; null when there is none. */
  readonly serverSecret: string | null;
  readonly operatorKey: string | null;
  readonly probe: Probe;
  readonly nowMs: number;
  /** Told of each step as soon as it is known. */
  readonly onStep: (step: Step) => void;
}

/** Looks at everything in the order in which one part needs the other. What cannot be tried says why. */
export async function runDoctor(input: DoctorInput): Promise<Step[]> {
  const doctor = new Doctor(input);
  await doctor.run();
  return doctor.steps;
}

class Doctor {
  readonly steps: Step[] = [];

  constructor(private readonly input: DoctorInput) {}

  async run(): Promise<void> {
    for (const step of variableSteps(this.input.env)) this.add(step);
    const isReached = await this.step("issuer", ["KINDE_ISSUER_URL"], null, () =>
      checkIssuer(this.input.probe, this.value("KINDE_ISSUER_URL")),
    );
    const noIssuer = isReached ? null : "the issuer is not right yet";
    await this.step("keys of the issuer", [], noIssuer, () =>
      checkKeys(this.input.probe, this.value("KINDE_ISSUER_URL")),
    );
    await this.signIn(noIssuer);
    await this.management(noIssuer);
    await this.convex(noIssuer);
    await this.step("site", ["KINDE_SITE_URL"], null, () =>
      checkSite(this.input.probe, this.value("KINDE_SITE_URL")),
    );
  }

  private async signIn(noIssuer: string | null): Promise<void> {
    const app = {
      issuerUrl: this.value("KINDE_ISSUER_URL"),
      clientId: this.value("KINDE_CLIENT_ID"),
      clientSecret: this.value("KINDE_CLIENT_SECRET"),
      siteUrl: this.value("KINDE_SITE_URL"),
    };
    const { probe } = this.input;
    const credentials = ["KINDE_CLIENT_ID", "KINDE_CLIENT_SECRET", "KINDE_SITE_URL"];
    await this.step("web application", credentials, noIssuer, () => checkWebClient(probe, app));
    await this.step("sign-in", ["KINDE_CLIENT_ID", "KINDE_SITE_URL"], noIssuer, () =>
      checkSignIn(probe, app),
    );
  }

  private async management(noIssuer: string | null): Promise<void> {
    const { probe } = this.input;
    const issuerUrl = this.value("KINDE_ISSUER_URL");
    const app = {
      issuerUrl,
      clientId: this.value("KINDE_M2M_CLIENT_ID"),
      clientSecret: this.value("KINDE_M2M_CLIENT_SECRET"),
      audience: this.value("KINDE_API_AUDIENCE") || `${issuerUrl}/api`,
    };
    let accessToken: string | null = null;
    const credentials = ["KINDE_M2M_CLIENT_ID", "KINDE_M2M_CLIENT_SECRET"];
    await this.step("machine token", credentials, noIssuer, async () => {
      const answer = await checkMachineToken(probe, app);
      accessToken = answer.accessToken;
      return answer.finding;
    });
    const noToken = accessToken === null ? "there is no machine token" : null;
    const api: Management = { probe, issuerUrl, accessToken: accessToken ?? "" };
    await this.step("scopes", [], noToken, () => checkScopes(probe, app));
    await this.step("webhook", ["KINDE_SITE_URL"], noToken, () =>
      checkWebhook(api, this.value("KINDE_SITE_URL")),
    );
    const allowances = this.value("HOLDFAST_ALLOWANCES");
    await this.step("plans and features", [], noToken ?? this.faulty("HOLDFAST_ALLOWANCES"), () =>
      checkPlans(api, allowances === "" ? DEFAULT_ALLOWANCES : parseAllowances(allowances)),
    );
  }

  private async convex(noIssuer: string | null): Promise<void> {
    const { probe, serverSecret, operatorKey, nowMs } = this.input;
    if (this.value("CONVEX_URL") === "") return;
    const convexUrl = this.value("CONVEX_URL").replace(/\/+$/, "");
    const issuerUrl = this.value("KINDE_ISSUER_URL");
    const isReached = await this.step("Convex deployment", ["CONVEX_URL"], null, () =>
      checkDeployment(probe, convexUrl),
    );
    const noConvex = isReached ? null : "the Convex deployment is not reached";
    let settings: DeploymentSettings | null = null;
    const noSecret =
      serverSecret === null ? "neither HOLDFAST_SERVER_SECRET nor the data directory has a secret" : null;
    await this.step("server secret", [], noConvex ?? noSecret, async () => {
      const answer = await checkServerSecret(probe, convexUrl, serverSecret ?? "");
      settings = answer.settings;
      return answer.finding;
    });
    const told = settings as DeploymentSettings | null;
    const noSettings = told === null ? "the deployment did not show its settings" : null;
    await this.step("deployment variables", ["KINDE_ISSUER_URL"], noConvex ?? noSettings, () =>
      Promise.resolve(judgeSettings(told!, issuerUrl)),
    );
    const noKey = operatorKey === null ? "the data directory has no operator key" : null;
    await this.step("operator key", [], noConvex ?? noSettings ?? noKey, () =>
      checkOperatorKey(probe, convexUrl, {
        serverSecret: serverSecret ?? "",
        keyHash: hashApiKey(operatorKey ?? ""),
      }),
    );
    await this.step("auth config of Convex", [], noConvex ?? noIssuer, () =>
      checkAuthConfig(probe, convexUrl, issuerUrl, nowMs),
    );
  }

  /** Tries a check, unless a variable of it cannot be used or `because` says why not. Returns whether it is ok. */
  private async step(
    name: string,
    variables: readonly string[],
    because: string | null,
    check: () => Promise<Finding>,
  ): Promise<boolean> {
    const unusable = variables.filter((variable) => !isUsable(this.steps, this.input.env, variable));
    const reason = unusable.length > 0 ? `${unusable.join(", ")} cannot be used` : because;
    const finding = reason === null ? await check() : skipped(reason);
    this.add({ name, ...finding });
    return finding.kind === "ok";
  }

  private add(step: Step): void {
    this.steps.push(step);
    this.input.onStep(step);
  }

  private value(variable: string): string {
    return this.input.env[variable] ?? "";
  }

  private faulty(variable: string): string | null {
    const isFaulty = this.steps.some(({ name, kind }) => name === variable && kind === "failed");
    return isFaulty ? `${variable} cannot be used` : null;
  }
}
