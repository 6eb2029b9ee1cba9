import type { z } from "zod";
import { assert } from "../../shared/assert.ts";
import type { ProblemCode } from "../../shared/problem.ts";
import type { Answered, PublicFunction, Sent } from "../convex-functions.ts";
import type { ServerDeps } from "../deps.ts";
import type { Answer, PlainRequest } from "../http.ts";
import type { scope as scopeSchema } from "./answer-schemas.ts";
import { noBody, noQuery } from "./request-schemas.ts";

export type HttpMethod = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
export type Scope = z.output<typeof scopeSchema>;

/** Calls to Convex in the name of the caller; conflicts are retried where repeating is safe. */
export interface CallerBackend {
  query<F extends PublicFunction<"query">>(ref: F, args: Sent<F>): Promise<Answered<F>>;
  mutation<F extends PublicFunction<"mutation">>(ref: F, args: Sent<F>): Promise<Answered<F>>;
  action<F extends PublicFunction<"action">>(ref: F, args: Sent<F>): Promise<Answered<F>>;
}

export interface RouteContext<Body, Query> {
  readonly params: Readonly<Record<string, string>>;
  readonly body: Body;
  readonly query: Query;
  readonly headers: PlainRequest["headers"];
  readonly backend: CallerBackend;
  readonly deps: ServerDeps;
}

interface AnswerDoc {
  readonly description: string;
  /** What the JSON answer looks like. */
  readonly schema?: z.ZodType;
  /** When it is not JSON. */
  readonly contentType?: string;
  /** Media types of text answers beside JSON, each with what it is. */
  readonly texts?: Readonly<Record<string, string>>;
}

/** One line of the route table: what dispatches a request and what the OpenAPI document says about it. */
export interface Route {
  readonly method: HttpMethod;
  /** Below `/api/v1`, with parameters in braces: `/jobs/{jobId}`. Every parameter is a document id. */
  readonly path: string;
  readonly operationId: string;
  readonly summary: string;
  readonly tag: string;
  /** Whose key the route takes. Scopes and the operator's right are checked by the Convex function itself. */
  readonly auth: "account" | "operator" | "none";
  /**
   * True when a request without an Authorization header may come from the signed-in session, for what a page links to.
   * Only for reads: nothing that another site can make a browser send may change anything.
   */
  readonly acceptsSession: boolean;
  readonly scope: Scope | undefined;
  readonly body: z.ZodObject | undefined;
  /** True when an empty body stands for `{}`. */
  readonly bodyOptional: boolean;
  readonly query: z.ZodObject;
  readonly answers: Readonly<Record<number, AnswerDoc>>;
  /** Codes of this route beside those that every route of its kind can answer. */
  readonly problems: readonly ProblemCode[];
  readonly handle: (
    context: RouteContext<Record<string, unknown>, Record<string, unknown>>,
  ) => Promise<Answer>;
}

interface RouteDefinition<B extends z.ZodObject, Q extends z.ZodObject> {
  readonly method: HttpMethod;
  readonly path: string;
  readonly operationId: string;
  readonly summary: string;
  readonly tag: string;
  readonly auth: Route["auth"];
  readonly acceptsSession?: boolean;
  readonly scope?: Scope;
  readonly body?: B;
  readonly query?: Q;
  readonly answers: Readonly<Record<number, AnswerDoc>>;
  readonly problems?: readonly ProblemCode[];
  readonly handle: (context: RouteContext<z.output<B>, z.output<Q>>) => Promise<Answer>;
}

/**
 * Makes a line of the table. The handler sees the checked types of its schemas. A POST, PUT or PATCH without a body
 * schema, and one whose fields are all optional, takes an empty body as `{}`.
 */
export function route<B extends z.ZodObject = typeof noBody, Q extends z.ZodObject = typeof noQuery>(
  definition: RouteDefinition<B, Q>,
): Route {
  const { method, acceptsSession = false } = definition;
  assert(
    !acceptsSession || method === "GET",
    `${definition.operationId} is no read, so a session may not ask`,
  );
  const takesBody = method !== "GET" && method !== "DELETE";
  const body: z.ZodObject | undefined = takesBody ? (definition.body ?? noBody) : undefined;
  return {
    ...definition,
    acceptsSession,
    scope: definition.scope,
    body,
    bodyOptional: body?.safeParse({}).success ?? true,
    query: definition.query ?? noQuery,
    problems: definition.problems ?? [],
    // The router hands over what the schemas of this very definition let through.
    handle: definition.handle as unknown as Route["handle"],
  };
}
