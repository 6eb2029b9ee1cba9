import { createApiKey } from "../api-keys.ts";
import { convexApi } from "../convex-functions.ts";
import type { PlainResponse } from "../http.ts";
import { jsonResponse, problemResponse } from "./answers.ts";
import { route, type Route } from "./route.ts";
import * as answers from "./answer-schemas.ts";
import * as requests from "./request-schemas.ts";

const { accounts, apiKeys, ops } = convexApi;

type Params = Readonly<Record<string, string>>;
const accountId = (params: Params): string => params.accountId ?? "";
const apiKeyId = (params: Params): string => params.keyId ?? "";

const NO_ACCOUNT = "There is no such account.";
const NO_KEY = "This account has no such API key.";

/** The answer of a call that may find nothing: `missing` as a 404, or what `show` makes of what it found. */
function found<A extends { readonly kind: string }>(
  answer: A,
  missing: string,
  show: (found: Exclude<A, { readonly kind: "not_found" }>) => object,
  status = 200,
): PlainResponse {
  if (answer.kind === "not_found") return problemResponse("not_found", missing);
  return jsonResponse(show(answer as Exclude<A, { readonly kind: "not_found" }>), status);
}

/** Setting a limit is listed under two methods: PUT says what it does, POST is what older clients send. */
const setLimit = (method: "PUT" | "POST", operationId: string): Route =>
  route({
    method,
    path: "/accounts/{accountId}/limits",
    operationId,
    summary: "Set the fixed limit of an account; null is unlimited",
    tag: "Accounts",
    auth: "operator",
    body: requests.limitBody,
    answers: { 200: { description: "The limit is set", schema: answers.limitSetAnswer } },
    problems: ["out_of_range", "not_found"],
    async handle({ params, body, backend }) {
      const id = accountId(params);
      const answer = await backend.mutation(accounts.setLimit, { accountId: id, ...body });
      return found(answer, NO_ACCOUNT, ({ feature, limitUnits, setAtMs }) => {
        return { accountId: id, feature, limitUnits, setAtMs };
      });
    },
  });

/** What the operator of this installation may do. Each route needs the operator key. */
export const operatorRoutes: readonly Route[] = [
  route({
    method: "POST",
    path: "/accounts",
    operationId: "createAccount",
    summary: "Create an account",
    tag: "Accounts",
    auth: "operator",
    body: requests.accountBody,
    answers: { 201: { description: "The account", schema: answers.accountAnswer } },
    problems: ["out_of_range"],
    async handle({ body, backend }) {
      const { account } = await backend.mutation(accounts.create, body);
      return jsonResponse({ account }, 201);
    },
  }),
  route({
    method: "GET",
    path: "/accounts",
    operationId: "listAccounts",
    summary: "List accounts",
    tag: "Accounts",
    auth: "operator",
    query: requests.pageQuery,
    answers: { 200: { description: "A page of accounts", schema: answers.accountPage } },
    async handle({ query, backend }) {
      return jsonResponse(await backend.query(accounts.list, { ...query, cursor: query.cursor ?? null }));
    },
  }),
  route({
    method: "GET",
    path: "/accounts/{accountId}",
    operationId: "getAccount",
    summary: "Read an account",
    tag: "Accounts",
    auth: "operator",
    answers: { 200: { description: "The account", schema: answers.accountAnswer } },
    problems: ["not_found"],
    async handle({ params, backend }) {
      const account = await backend.query(accounts.get, { accountId: accountId(params) });
      return account === null ? problemResponse("not_found", NO_ACCOUNT) : jsonResponse({ account });
    },
  }),
  route({
    method: "PATCH",
    path: "/accounts/{accountId}",
    operationId: "setRate",
    summary: "Set how many jobs an account may start in a minute",
    tag: "Accounts",
    auth: "operator",
    body: requests.rateBody,
    answers: { 200: { description: "The account with its new rate", schema: answers.accountAnswer } },
    problems: ["out_of_range", "not_found"],
    async handle({ params, body, backend }) {
      const args = { accountId: accountId(params), ...body };
      const answer = await backend.mutation(accounts.setRate, args);
      return found(answer, NO_ACCOUNT, ({ account }) => ({ account }));
    },
  }),
  setLimit("PUT", "setLimit"),
  setLimit("POST", "postLimit"),
  route({
    method: "DELETE",
    path: "/accounts/{accountId}/limits",
    operationId: "removeLimit",
    summary: "Remove the fixed limit; the last one serves until it is ten minutes old",
    tag: "Accounts",
    auth: "operator",
    answers: { 200: { description: "The limit is removed", schema: answers.limitRemovedAnswer } },
    problems: ["not_found"],
    async handle({ params, backend }) {
      const id = accountId(params);
      const answer = await backend.mutation(accounts.removeLimit, { accountId: id });
      return found(answer, NO_ACCOUNT, () => ({ accountId: id, removed: true }));
    },
  }),
  route({
    method: "POST",
    path: "/accounts/{accountId}/keys",
    operationId: "createApiKey",
    summary: "Create an API key; its secret is answered this once",
    tag: "API keys",
    auth: "operator",
    body: requests.apiKeyBody,
    answers: { 201: { description: "The key and its secret", schema: answers.newApiKeyAnswer } },
    problems: ["not_found"],
    async handle({ params, body, backend }) {
      const { secret, keyHash, prefix } = createApiKey();
      const answer = await backend.mutation(apiKeys.create, {
        accountId: accountId(params),
        keyHashNew: keyHash,
        prefix,
        ...body,
      });
      return found(answer, NO_ACCOUNT, ({ apiKey }) => ({ apiKey, secret }), 201);
    },
  }),
  route({
    method: "GET",
    path: "/accounts/{accountId}/keys",
    operationId: "listApiKeys",
    summary: "List the API keys of an account, without their secrets",
    tag: "API keys",
    auth: "operator",
    answers: { 200: { description: "The keys", schema: answers.apiKeyList } },
    problems: ["not_found"],
    async handle({ params, backend }) {
      return jsonResponse(await backend.query(apiKeys.list, { accountId: accountId(params) }));
    },
  }),
  route({
    method: "DELETE",
    path: "/accounts/{accountId}/keys/{keyId}",
    operationId: "revokeApiKey",
    summary: "Revoke an API key",
    tag: "API keys",
    auth: "operator",
    answers: { 200: { description: "The key is revoked", schema: answers.apiKeyAnswer } },
    problems: ["not_found"],
    async handle({ params, backend }) {
      const args = { accountId: accountId(params), apiKeyId: apiKeyId(params) };
      const answer = await backend.mutation(apiKeys.revoke, args);
      return found(answer, NO_KEY, ({ apiKey }) => ({ apiKey }));
    },
  }),
  route({
    method: "POST",
    path: "/accounts/{accountId}/keys/{keyId}/rotate",
    operationId: "rotateApiKey",
    summary: "Replace the secret of an API key",
    tag: "API keys",
    auth: "operator",
    answers: { 200: { description: "The key and its new secret", schema: answers.newApiKeyAnswer } },
    problems: ["not_found"],
    async handle({ params, backend }) {
      const { secret, keyHash, prefix } = createApiKey();
      const answer = await backend.mutation(apiKeys.rotate, {
        accountId: accountId(params),
        apiKeyId: apiKeyId(params),
        keyHashNew: keyHash,
        prefix,
      });
      return found(answer, NO_KEY, ({ apiKey }) => ({ apiKey, secret }));
    },
  }),
  route({
    method: "POST",
    path: "/ops/sweep",
    operationId: "sweep",
    summary: "Settle jobs whose lease has ended, now",
    tag: "Operations",
    auth: "operator",
    answers: { 200: { description: "What the sweep did", schema: answers.sweepAnswer } },
    async handle({ backend }) {
      return jsonResponse(await backend.action(ops.sweep, {}));
    },
  }),
  route({
    method: "POST",
    path: "/ops/audit",
    operationId: "audit",
    summary: "Recompute held and used units and repair a difference, now",
    tag: "Operations",
    auth: "operator",
    answers: { 200: { description: "What the audit did", schema: answers.auditAnswer } },
    async handle({ backend }) {
      return jsonResponse(await backend.action(ops.audit, {}));
    },
  }),
];
