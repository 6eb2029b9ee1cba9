import { convexApi } from "../convex-functions.ts";
import { admitWithRefresh, askWithLimit } from "../admission.ts";
import { jsonResponse } from "./answers.ts";
import { jobFaultResponse, refusalResponse } from "./outcomes.ts";
import { route, type Route } from "./route.ts";
import * as answers from "./answer-schemas.ts";
import * as requests from "./request-schemas.ts";

const TAG = "Jobs";
const { gate, limits, runner } = convexApi;
const jobId = (params: Readonly<Record<string, string>>): string => params.jobId ?? "";

/** Starting, running and ending jobs, and what an account has used. Rule source: the gate section of the design. */
export const jobRoutes: readonly Route[] = [
  route({
    method: "POST",
    path: "/jobs",
    operationId: "startJob",
    summary: "Hold units and start a job",
    tag: TAG,
    auth: "account",
    scope: "jobs:write",
    body: requests.admitBody,
    answers: {
      201: { description: "The job is admitted and its units are held", schema: answers.admitAnswer },
      200: {
        description: "The same key and request as before: the same job, nothing more held",
        schema: answers.admitAnswer,
      },
    },
    problems: [
      "out_of_range",
      "limit_reached",
      "held_by_running_jobs",
      "payment_overdue",
      "key_conflict",
      "rate_limited",
      "limit_unknown",
    ],
    async handle({ body, backend, deps }) {
      const answer = await admitWithRefresh(() => backend.mutation(gate.admit, body), backend, deps);
      if (answer.kind === "refused") return refusalResponse(answer.refusal);
      const { job, replayed, limit } = answer;
      return jsonResponse({ job, replayed, limit }, replayed ? 200 : 201);
    },
  }),
  route({
    method: "POST",
    path: "/jobs/preview",
    operationId: "previewJob",
    summary: "Ask whether a job would be admitted, without holding anything",
    tag: TAG,
    auth: "account",
    scope: "jobs:read",
    body: requests.previewBody,
    answers: {
      200: { description: "What an admission would answer at this moment", schema: answers.previewAnswer },
    },
    problems: ["out_of_range", "limit_unknown"],
    async handle({ body, backend, deps }) {
      const ask = () => backend.query(gate.preview, body);
      const refresh = () => backend.action(limits.refreshForPreview, {});
      const answer = await askWithLimit(ask, ({ kind }) => kind === "refresh_needed", refresh, deps);
      if (answer.kind === "refresh_needed") {
        return refusalResponse({ code: "limit_unknown", retryAfterMs: 1000 });
      }
      return jsonResponse(answer);
    },
  }),
  route({
    method: "GET",
    path: "/jobs",
    operationId: "listJobs",
    summary: "List jobs, newest first",
    tag: TAG,
    auth: "account",
    scope: "jobs:read",
    query: requests.jobsQuery,
    answers: { 200: { description: "A page of jobs", schema: answers.jobPage } },
    async handle({ query, backend }) {
      return jsonResponse(await backend.query(gate.listJobs, { ...query, cursor: query.cursor ?? null }));
    },
  }),
  route({
    method: "GET",
    path: "/jobs/estimates",
    operationId: "listEstimates",
    summary: "What jobs of each kind used of their holds over the last month",
    tag: TAG,
    auth: "account",
    scope: "jobs:read",
    query: requests.estimatesQuery,
    answers: { 200: { description: "Estimates by kind", schema: answers.estimatesAnswer } },
    async handle({ query, backend }) {
      return jsonResponse(await backend.query(gate.estimates, query));
    },
  }),
  route({
    method: "GET",
    path: "/jobs/{jobId}",
    operationId: "getJob",
    summary: "Read a job",
    tag: TAG,
    auth: "account",
    scope: "jobs:read",
    answers: { 200: { description: "The job", schema: answers.jobAnswer } },
    problems: ["not_found"],
    async handle({ params, backend }) {
      const job = await backend.query(gate.getJob, { jobId: jobId(params) });
      return job === null ? jobFaultResponse({ kind: "not_found" }) : jsonResponse({ job });
    },
  }),
  route({
    method: "POST",
    path: "/jobs/{jobId}/charge",
    operationId: "chargeStep",
    summary: "Charge a step to the hold and renew the lease",
    tag: TAG,
    auth: "account",
    scope: "jobs:write",
    body: requests.chargeBody,
    answers: {
      200: { description: "Charged, or capped at what was left of the hold", schema: answers.chargeAnswer },
    },
    problems: ["out_of_range", "not_found", "lease_lost", "not_running", "step_conflict"],
    async handle({ params, body, backend }) {
      const answer = await backend.mutation(gate.charge, { jobId: jobId(params), ...body });
      if (answer.kind === "refused") return refusalResponse(answer.refusal);
      if (answer.kind !== "charged") return jobFaultResponse(answer);
      const { job, chargedUnits, capped, replayed } = answer;
      return jsonResponse({ job, chargedUnits, capped, replayed });
    },
  }),
  route({
    method: "POST",
    path: "/jobs/{jobId}/heartbeat",
    operationId: "renewLease",
    summary: "Renew the lease without charging",
    tag: TAG,
    auth: "account",
    scope: "jobs:write",
    body: requests.heartbeatBody,
    answers: { 200: { description: "The lease is renewed", schema: answers.jobAnswer } },
    problems: ["not_found", "lease_lost", "not_running"],
    async handle({ params, body, backend }) {
      const answer = await backend.mutation(gate.heartbeat, { jobId: jobId(params), ...body });
      return answer.kind === "renewed" ? jsonResponse({ job: answer.job }) : jobFaultResponse(answer);
    },
  }),
  route({
    method: "POST",
    path: "/jobs/{jobId}/extend",
    operationId: "extendHold",
    summary: "Hold more units for a running job",
    tag: TAG,
    auth: "account",
    scope: "jobs:write",
    body: requests.extendBody,
    answers: { 200: { description: "The hold is larger", schema: answers.jobAnswer } },
    problems: [
      "out_of_range",
      "limit_reached",
      "held_by_running_jobs",
      "not_found",
      "lease_lost",
      "not_running",
      "limit_unknown",
    ],
    async handle({ params, body, backend, deps }) {
      const extend = () => backend.mutation(gate.extend, { jobId: jobId(params), ...body });
      const answer = await admitWithRefresh(extend, backend, deps);
      if (answer.kind === "refused") return refusalResponse(answer.refusal);
      return answer.kind === "extended" ? jsonResponse({ job: answer.job }) : jobFaultResponse(answer);
    },
  }),
  route({
    method: "POST",
    path: "/jobs/{jobId}/settle",
    operationId: "settleJob",
    summary: "End a job: pay what it used and return the rest of the hold",
    tag: TAG,
    auth: "account",
    scope: "jobs:write",
    body: requests.settleBody,
    answers: {
      200: {
        description: "The stored outcome, also when the job had ended before",
        schema: answers.settleAnswer,
      },
    },
    problems: ["out_of_range", "not_found", "lease_lost"],
    async handle({ params, body, backend }) {
      const answer = await backend.mutation(gate.settle, { jobId: jobId(params), ...body });
      if (answer.kind === "refused") return refusalResponse(answer.refusal);
      if (answer.kind !== "settled") return jobFaultResponse(answer);
      return jsonResponse({ job: answer.job, replayed: answer.replayed });
    },
  }),
  route({
    method: "POST",
    path: "/jobs/{jobId}/kill",
    operationId: "killRunner",
    summary: "Kill the built-in step runner of a job; its hold stays until the lease ends",
    tag: TAG,
    auth: "account",
    scope: "jobs:write",
    answers: { 200: { description: "The next step will not run", schema: answers.jobAnswer } },
    problems: ["not_found", "not_running"],
    async handle({ params, backend }) {
      const answer = await backend.mutation(runner.kill, { jobId: jobId(params) });
      return answer.kind === "killed" ? jsonResponse({ job: answer.job }) : jobFaultResponse(answer);
    },
  }),
  route({
    method: "GET",
    path: "/usage",
    operationId: "getUsage",
    summary: "Used, held and free units of the running cycle",
    tag: "Usage",
    auth: "account",
    scope: "usage:read",
    answers: { 200: { description: "The state of the cycle", schema: answers.usage } },
    async handle({ backend, deps }) {
      const ask = () => backend.query(gate.usage, {});
      const refresh = () => backend.action(limits.refreshForUsage, {});
      return jsonResponse(await askWithLimit(ask, ({ limit }) => limit === null, refresh, deps));
    },
  }),
];
