import { expect, test } from "vitest";
import { checkScopes, NEEDED_SCOPES } from "../../lib/doctor/machine.ts";
import { createProbe } from "../../lib/doctor/probe.ts";
import { answerJson, standIn } from "./stand-in-server.ts";

const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
const few = NEEDED_SCOPES.slice(0, 2);

test.each([
  [
    "its claim scp",
    { scp: few },
    "",
    { fault: "scope_missing", detail: expect.stringContaining(NEEDED_SCOPES[2]) },
  ],
  ["its claim scope", { scope: few.join(" ") }, "", { fault: "scope_missing" }],
  ["the answer", {}, few.join(" "), { fault: "scope_missing" }],
  ["all of them", { scp: NEEDED_SCOPES }, "", { kind: "ok" }],
  ["nothing", { scp: [], scope: "" }, "", { kind: "skipped" }],
])("a provider that narrows scopes without an error is seen: %s", async (_name, claims, scope, expected) => {
  const accessToken = `${part({ alg: "RS256" })}.${part(claims)}.x`;
  const tenant = await standIn((_request, response) =>
    answerJson(response, { access_token: accessToken, scope }),
  );
  const app = { issuerUrl: tenant.url, clientId: "m", clientSecret: "s", audience: "a" };
  expect(await checkScopes(createProbe(fetch, 5_000), app)).toMatchObject(expected);
  await tenant.close();
});
