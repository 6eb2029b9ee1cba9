import { z } from "zod";
import { PROBLEMS, problemType, type ProblemCode } from "../../shared/problem.ts";
import type { Route } from "./route.ts";
import * as answers from "./answer-schemas.ts";
import { billingEvent } from "./event-schemas.ts";
import { reminder } from "./reminder-schemas.ts";

const OPENAPI_VERSION = "3.1.0";
const API_VERSION = "1.0.0";

/** Schemas that the document names once; every other schema is written where it is used. */
const NAMED_SCHEMAS: Readonly<Record<string, z.ZodType>> = {
  Job: answers.job,
  Limit: answers.limit,
  Refusal: answers.refusal,
  Account: answers.account,
  ApiKey: answers.apiKey,
  Entry: answers.entry,
  Link: answers.link,
  Reminder: reminder,
  BillingEvent: billingEvent,
};

type Json = Record<string, unknown>;

/** Builds the OpenAPI 3.1 document from the route table: the same schemas that check the requests. */
export function buildOpenApi(routes: readonly Route[], prefix: string): Json {
  const schemas = collectSchemas(routes);
  const paths: Record<string, Json> = {};
  for (const route of routes) {
    const path = (paths[route.path] ??= pathItem(route.path));
    path[route.method.toLowerCase()] = operation(route, schemas);
  }
  return {
    openapi: OPENAPI_VERSION,
    info: {
      title: "Holdfast API",
      version: API_VERSION,
      description:
        "Jobs hold part of a usage limit before they start, are capped by it and pay what they used. " +
        "Clicks on short links are billed one by one. Billing events are applied once, and can be replayed.",
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url: prefix }],
    tags: [...new Set(routes.map((route) => route.tag))].map((name) => ({ name })),
    paths,
    components: {
      schemas: { ...schemas.named, Problem: problemSchema() },
      responses: problemResponses(),
      securitySchemes: {
        accountKey: { type: "http", scheme: "bearer", description: "An API key of an account, hf_live_…" },
        operatorKey: { type: "http", scheme: "bearer", description: "The operator key of this installation" },
        session: {
          type: "apiKey",
          in: "cookie",
          name: "access_token",
          description:
            "The sign-in of the browser, when there is no Authorization header; from this site only",
        },
      },
    },
  };
}

interface Schemas {
  readonly named: Readonly<Record<string, Json>>;
  readonly of: (schema: z.ZodType) => Json;
}

/** Converts all schemas in one go, so that a named one becomes a reference wherever it is used. */
function collectSchemas(routes: readonly Route[]): Schemas {
  const registry = z.registry<{ id: string }>();
  for (const [id, schema] of Object.entries(NAMED_SCHEMAS)) registry.add(schema, { id });
  const ids = new Map<z.ZodType, string>();
  const add = (schema: z.ZodType | undefined, id: string): void => {
    if (!schema || ids.has(schema) || registry.has(schema)) return;
    ids.set(schema, id);
    registry.add(schema, { id });
  };
  for (const route of routes) {
    add(route.body, `${route.operationId}Body`);
    for (const [status, answer] of Object.entries(route.answers)) {
      add(answer.schema, `${route.operationId}Answer${status}`);
    }
  }
  const uri = (id: string) => `#/components/schemas/${id}`;
  const converted = z.toJSONSchema(registry, { uri, io: "input" }).schemas as Record<string, Json>;
  const clean = (id: string): Json => {
    const { $schema: _schema, $id: _id, ...rest } = converted[id] ?? {};
    return rest;
  };
  const named = Object.fromEntries(Object.keys(NAMED_SCHEMAS).map((id) => [id, clean(id)]));
  return {
    named,
    of: (schema) => {
      const id = ids.get(schema);
      return id === undefined ? { $ref: uri(registry.get(schema)?.id ?? "") } : clean(id);
    },
  };
}

function pathItem(path: string): Json {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map((match) => match[1]);
  if (names.length === 0) return {};
  return {
    parameters: names.map((name) => ({ name, in: "path", required: true, schema: { type: "string" } })),
  };
}

function operation(route: Route, schemas: Schemas): Json {
  const responses: Json = {};
  for (const [status, answer] of Object.entries(route.answers)) {
    const { contentType = "application/json", texts = {} } = answer;
    const schema = answer.schema ? schemas.of(answer.schema) : plainSchema(contentType);
    const others = Object.entries(texts).map(([type, description]) => [
      type,
      { schema: { type: "string", description } },
    ]);
    const content = { [contentType]: { schema }, ...Object.fromEntries(others) };
    responses[status] = { description: answer.description, content };
  }
  for (const [status, codes] of codesByStatus(problemsOf(route))) {
    responses[status] =
      codes.length === 1
        ? { $ref: `#/components/responses/${codes[0]}` }
        : problemAnswer(codes, codes.map((code) => `${code}: ${PROBLEMS[code].title}`).join(" · "));
  }
  const parameters = queryParameters(route.query);
  return {
    operationId: route.operationId,
    summary: route.summary,
    tags: [route.tag],
    ...(route.scope ? { description: `Needs the scope \`${route.scope}\`.` } : {}),
    security: security(route),
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(route.body
      ? {
          requestBody: {
            required: !route.bodyOptional,
            content: { "application/json": { schema: schemas.of(route.body) } },
          },
        }
      : {}),
    responses,
  };
}

/** Of an answer without a schema of its own. A picture's type says all there is to say. */
function plainSchema(contentType: string): Json {
  return contentType === "application/json" ? { type: "object" } : {};
}

function security(route: Route): Json[] {
  if (route.auth === "none") return [];
  if (route.auth === "operator") return [{ operatorKey: [] }];
  return route.acceptsSession ? [{ accountKey: [] }, { session: [] }] : [{ accountKey: [] }];
}

/** The codes that a route can answer: its own and those of its kind. */
function problemsOf(route: Route): ProblemCode[] {
  const codes = new Set<ProblemCode>(["invalid", ...route.problems, "internal"]);
  if (route.path.includes("{")) codes.add("not_found");
  if (route.body) codes.add("too_large");
  if (route.auth !== "none") {
    for (const code of ["unauthorized", "forbidden", "too_many_requests", "busy", "unavailable"] as const)
      codes.add(code);
  }
  return [...codes];
}

function codesByStatus(codes: readonly ProblemCode[]): [string, ProblemCode[]][] {
  const groups = new Map<string, ProblemCode[]>();
  for (const code of codes) {
    const status = String(PROBLEMS[code].status);
    groups.set(status, [...(groups.get(status) ?? []), code]);
  }
  return [...groups].toSorted(([a], [b]) => Number(a) - Number(b));
}

function queryParameters(query: z.ZodObject): Json[] {
  const { properties = {}, required = [] } = z.toJSONSchema(query, { io: "input" }) as {
    properties?: Record<string, Json>;
    required?: string[];
  };
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: "query",
    required: required.includes(name),
    schema,
  }));
}

function problemResponses(): Json {
  const codes = Object.keys(PROBLEMS) as ProblemCode[];
  return Object.fromEntries(codes.map((code) => [code, problemAnswer([code], PROBLEMS[code].title)]));
}

function problemAnswer(codes: readonly ProblemCode[], description: string): Json {
  const [code] = codes;
  if (!code) return { description };
  const { status, title } = PROBLEMS[code];
  const retryAfter = {
    "Retry-After": { description: "Whole seconds to wait", schema: { type: "integer", minimum: 1 } },
  };
  const challenge = { "WWW-Authenticate": { description: "The scheme to use", schema: { type: "string" } } };
  const headers = status === 429 || status === 503 ? retryAfter : status === 401 ? challenge : undefined;
  return {
    description,
    ...(headers ? { headers } : {}),
    content: {
      "application/problem+json": {
        schema: {
          allOf: [
            { $ref: "#/components/schemas/Problem" },
            { type: "object", properties: { code: { type: "string", enum: codes } } },
          ],
        },
        example: { type: problemType(code), code, title, status, detail: `${title}.` },
      },
    },
  };
}

function problemSchema(): Json {
  const codes = Object.keys(PROBLEMS);
  return {
    type: "object",
    description: "An error (RFC 9457). Match on `code`; the numbers of a refusal are further members.",
    required: ["type", "code", "title", "status", "detail"],
    properties: {
      type: { type: "string", format: "uri" },
      code: { type: "string", enum: codes },
      title: { type: "string" },
      status: { type: "integer" },
      detail: { type: "string" },
      next: { type: "string", description: "What a person can do about a refusal, in words" },
      errors: {
        type: "array",
        items: {
          type: "object",
          required: ["path", "message"],
          properties: { path: { type: "string" }, message: { type: "string" } },
        },
      },
    },
  };
}
