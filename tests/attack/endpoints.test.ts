import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";

import { openApiDocument, routes, handleApi } from "../../lib/server/api/router.ts";
import type { Route } from "../../lib/server/api/route.ts";
import { createConvexGateway } from "../../lib/server/convex.ts";
import type { LogEvent, ServerDeps } from "../../lib/server/deps.ts";
import { toResponse } from "../../lib/server/http.ts";
import { readSessionToken } from "../../lib/server/session-token.ts";
import { must } from "../../lib/shared/assert.ts";
import { SERVER_SECRET } from "../helpers/backend.ts";
import { createCustomer, type Customer, openWorld, OPERATOR_KEY, rowsOf, type World } from "./world.ts";

/** Another customer's ids in every endpoint of the route table, on the real functions behind the real handlers. */

let world: World;
let deps: ServerDeps;
let mallory: Customer;
const logged: LogEvent[] = [];
beforeAll(async () => {
  world = await openWorld();
  mallory = await createCustomer(world);
  deps = {
    convex: createConvexGateway({ url: world.url, serverSecret: SERVER_SECRET }),
    readSessionToken,
    nowMs: () => world.inside.nowMs(),
    sleep: () => Promise.resolve(),
    random: () => 0.5,
    elapsedMs: () => 0,
    answered: () => undefined,
    newId: () => "error-id",
    log: (event) => void logged.push(event),
  };
});
afterAll(() => world.close());

/** What a body field or a query parameter of that name is tried with. An id in them is the owner's, too. */
const VALUES: Record<string, unknown> = {
  step: 1,
  units: 1,
  fence: 1,
  outcome: "completed",
  key: "k",
  text: "x",
  dueAtMs: Date.UTC(2027, 0, 1),
  target: "https://example.com/",
  name: "x",
  limitUnits: 1,
  jobsPerMinute: 1,
  decision: "accept",
  overdueBlockDays: 7,
  fromMs: Date.UTC(2026, 9, 9),
  untilMs: Date.UTC(2026, 9, 11),
};

/** Fields that a rule across fields asks for, by operation. */
const ALSO: Readonly<Record<string, readonly string[]>> = { renewLease: ["fence"] };

/** The required fields of a schema. A field that nothing is known for is an error: a new one gets its line above. */
function required(
  schema: z.ZodObject,
  owner: Customer,
  also: readonly string[] = [],
): Record<string, unknown> {
  const json = z.toJSONSchema(schema, { unrepresentable: "any", io: "input" });
  const fields = [...(json.required ?? []), ...also];
  return Object.fromEntries(
    fields.map((name) => [name, must(owner.ids[name] ?? VALUES[name], `no value for the field ${name}`)]),
  );
}

interface Asked {
  readonly path: string;
  readonly body: Record<string, unknown> | null;
}

/** A request of the route in which every parameter names something of `owner`'s. */
function pointedAt(route: Route, owner: Customer): Asked {
  const path = route.path.replace(/\{(\w+)\}/g, (_all, name: string) =>
    must(owner.ids[name], `no id for the path parameter ${name}`),
  );
  const query = required(route.query, owner);
  const search = new URLSearchParams(Object.entries(query).map(([name, value]) => [name, String(value)]));
  const body = route.body === undefined ? null : required(route.body, owner, ALSO[route.operationId]);
  return { path: search.size === 0 ? path : `${path}?${search}`, body };
}

interface Answered {
  readonly status: number;
  readonly text: string;
  readonly code: string | undefined;
}

async function ask(route: Route, { path, body }: Asked, headers: Record<string, string>): Promise<Answered> {
  const request = new Request(`http://localhost/api/v1${path}`, {
    method: route.method,
    headers: { ...headers, ...(body === null ? {} : { "content-type": "application/json" }) },
    body: body === null ? null : JSON.stringify(body),
  });
  const response = toResponse(await handleApi(request, deps));
  const text = await response.text();
  const isProblem = response.headers.get("content-type") === "application/problem+json";
  return {
    status: response.status,
    text,
    code: isProblem ? (JSON.parse(text) as { code: string }).code : undefined,
  };
}

const withKey = ({ secret }: Customer) => ({ authorization: `Bearer ${secret}` });
const withSession = ({ token }: Customer) => ({ cookie: `access_token=${token}` });
const named = (fits: (route: Route) => boolean) =>
  routes.filter(fits).map((route) => [`${route.method} ${route.path}`, route] as const);

function expectNothingOf(owner: Customer, { path, body }: Asked, { text }: Answered): void {
  const given = path + JSON.stringify(body);
  const names = [owner.mark, owner.accountId, ...Object.values(owner.ids)];
  expect(names.filter((name) => !given.includes(name) && text.includes(name))).toEqual([]);
}

test("the table has what is tried here: routes of accounts, of operators, and one of nobody", () => {
  expect(Object.keys(openApiDocument()["paths"] as object).length).toBeGreaterThan(25);
  expect(routes.filter(({ auth }) => auth === "none").map(({ path }) => path)).toEqual(["/openapi.json"]);
});

describe("an id of another customer is not there, whoever asks with a key or a session of their own", () => {
  const cases = named(({ auth, path }) => auth === "account" && path.includes("{"));

  test("there are such routes", () => expect(cases.length).toBeGreaterThan(12));

  test.each(cases)("%s", async (_name, route) => {
    const owner = await createCustomer(world);
    const asked = pointedAt(route, owner);
    const before = await rowsOf(world, owner);
    const byKey = await ask(route, asked, withKey(mallory));
    expect(byKey).toMatchObject({ status: 404, code: "not_found" });
    expectNothingOf(owner, asked, byKey);
    const bySession = await ask(route, asked, withSession(mallory));
    expect(bySession.status).toBe(route.acceptsSession ? 404 : 401);
    expectNothingOf(owner, asked, bySession);
    expect(await rowsOf(world, owner)).toEqual(before);

    const own = await ask(route, asked, withKey(owner));
    expect(own.status).not.toBe(404);
    expect(own.status).toBeLessThan(500);
  });
});

describe("lists and reads of an account hold nothing of another one", () => {
  test.each(named(({ auth, path }) => auth === "account" && !path.includes("{")))(
    "%s",
    async (_name, route) => {
      const owner = await createCustomer(world);
      const before = await rowsOf(world, owner);
      const asked = pointedAt(route, owner);
      expectNothingOf(owner, asked, await ask(route, asked, withKey(mallory)));
      // The owner's own idempotency key names another thing here.
      const sameKey = { ...asked, body: asked.body === null ? null : { ...asked.body, key: owner.mark } };
      const answer = await ask(route, "key" in (asked.body ?? {}) ? sameKey : asked, withKey(mallory));
      expect(answer.code).not.toBe("key_conflict");
      expect(await rowsOf(world, owner)).toEqual(before);
    },
  );
});

describe("a route of operators takes no customer's key, no session and no half of an operator", () => {
  test.each(named(({ auth }) => auth === "operator"))("%s", async (_name, route) => {
    const owner = await createCustomer(world);
    const asked = pointedAt(route, owner);
    const before = await rowsOf(world, owner);
    for (const caller of [mallory, owner]) {
      expect(await ask(route, asked, withKey(caller))).toMatchObject({ status: 403, code: "forbidden" });
      expect((await ask(route, asked, withSession(caller))).status).toBe(401);
    }
    for (const operatorKey of ["hf_op_", `hf_op_${"A".repeat(43)}`, "hf_op_0f0f0f"]) {
      const answer = await ask(route, asked, { authorization: `Bearer ${operatorKey}` });
      expect(answer).toMatchObject({ status: 403, code: "forbidden" });
    }
    expect(await rowsOf(world, owner)).toEqual(before);
  });
});

describe("an operator who names one account and a thing of another moves neither", () => {
  const cases = named(({ path }) => (path.match(/\{/g)?.length ?? 0) > 1);
  test("there are such routes", () => expect(cases.length).toBeGreaterThan(1));

  test.each(cases)("%s", async (_name, route) => {
    const owner = await createCustomer(world);
    const before = await rowsOf(world, owner);
    const mixed = { ...owner, ids: { ...owner.ids, accountId: mallory.accountId } };
    const asOperator = { authorization: `Bearer ${OPERATOR_KEY}` };
    const answer = await ask(route, pointedAt(route, mixed), asOperator);
    expect(answer).toMatchObject({ status: 404, code: "not_found" });
    expect(await rowsOf(world, owner)).toEqual(before);
    expect((await ask(route, pointedAt(route, owner), asOperator)).status).toBe(200);
  });
});

test("none of all this was an internal error", () => {
  expect(logged).toEqual([]);
});
