/**
 * The control API, for tests and for the operator's screens (through our own server, never from a page). It needs
 * the control key, and refuses whatever a browser sends on behalf of a page: those requests carry an Origin.
 */
import { existsSync, statSync } from "node:fs";
import { isAbsolute } from "node:path";
import { z } from "zod";
import { equalInConstantTime } from "../../shared/secrets.ts";
import { apiRefusal, json, type Answer } from "./answers.ts";
import { existingUser, parseBody } from "./api-input.ts";
import { agreementsOf, findAgreement, startAgreement } from "./billing.ts";
import { findPlan } from "./catalogue.ts";
import { changesAfter } from "./changes.ts";
import type { Call, Emulator, Route } from "./context.ts";
import { newFault } from "./fault-kinds.ts";
import { FAULTS_MAX, type Faults } from "./faults.ts";
import { allMeters, liveTotal, writeMeter } from "./meters.ts";
import type { RequestLog } from "./request-log.ts";
import { StateFileError } from "./storage.ts";
import { createUser, listUsers, newUser } from "./users.ts";

/** GET /control/state shows this many users and meters. */
const STATE_ROWS_MAX = 1_000;
const CHANGES_MAX = 500;

/** Throws Refusal 403 for what may come from a page, 401 without the key. */
export function authorizeControl({ config }: Emulator, { headers }: Pick<Call, "headers">): void {
  if (headers["origin"] !== undefined) {
    throw apiRefusal(403, "ORIGIN_REFUSED", "The control API answers no web page.");
  }
  const key = /^Bearer (.+)$/.exec(headers["authorization"] ?? "")?.[1] ?? "";
  if (!equalInConstantTime(config.controlKey, key)) {
    throw apiRefusal(401, "CONTROL_KEY_INVALID", "The control key is missing or wrong.");
  }
}

/** The routes, over the state that only this process has. */
export function controlRoutes(faults: Faults, log: RequestLog): Route[] {
  return [
    { method: "GET", path: "/control/state", handler: (emulator) => showState(emulator, faults) },
    { method: "POST", path: "/control/users", handler: addUser },
    { method: "POST", path: "/control/users/{id}/plan", handler: changePlan },
    {
      method: "POST",
      path: "/control/faults",
      handler: (emulator, call) => addFault(emulator, call, faults),
    },
    { method: "DELETE", path: "/control/faults", handler: (_, call) => removeFaults(call, faults) },
    { method: "POST", path: "/control/keys/rotate", handler: rotateKeys },
    { method: "POST", path: "/control/meter", handler: addUsage },
    { method: "POST", path: "/control/backup", handler: backUp },
    { method: "GET", path: "/control/changes", handler: showChanges },
    {
      method: "GET",
      path: "/control/log",
      handler: (_, call) => json(200, { entries: log.after(numberAfter(call)) }),
    },
  ];
}

function showState(emulator: Emulator, faults: Faults): Answer {
  const users = listUsers(emulator, { afterId: null, email: null, limit: STATE_ROWS_MAX });
  return json(200, {
    issuer: emulator.issuer,
    strict: emulator.config.strict,
    nowMs: emulator.nowMs(),
    currentKid: emulator.keys.currentKid(),
    plans: emulator.catalogue.plans.map(({ key, name }) => ({ key, name })),
    users,
    agreements: users.flatMap((user) => agreementsOf(emulator, user.customerId)),
    meters: allMeters(emulator, STATE_ROWS_MAX).map((meter) => ({
      ...meter,
      totalUnits: liveTotal(emulator, findAgreement(emulator, meter.agreementId)!, meter.featureKey),
    })),
    faults: faults.list(emulator.wallNowMs()),
    struck: faults.listStruck(),
  });
}

const backupBody = z.object({ file: z.string().min(1) }).strict();

/** Copies the state into a new file on this machine. */
function backUp(emulator: Emulator, call: Call): Answer {
  const { file } = parseBody(backupBody, call);
  if (!isAbsolute(file) || existsSync(file)) {
    throw apiRefusal(400, "FILE_REFUSED", "The file must be an absolute path where nothing is yet.");
  }
  try {
    emulator.storage.copyTo(file);
  } catch (error) {
    if (!(error instanceof StateFileError)) throw error;
    throw apiRefusal(400, "FILE_REFUSED", error.message);
  }
  return json(200, { bytes: statSync(file).size });
}

const userBody = newUser.extend({ planKey: z.string().optional() }).strict();

function addUser(emulator: Emulator, call: Call): Answer {
  const { planKey, ...fields } = parseBody(userBody, call);
  const created = createUser(emulator, fields);
  if (created.kind === "email_taken")
    throw apiRefusal(409, "EMAIL_TAKEN", "A user with this email exists already.");
  const agreement = startAgreement(
    emulator,
    created.user.customerId,
    knownPlan(emulator, planKey ?? emulator.catalogue.signUpPlan),
  );
  return json(201, { user: created.user, agreement });
}

function changePlan(emulator: Emulator, call: Call): Answer {
  const { planKey } = parseBody(z.strictObject({ planKey: z.string() }), call);
  const user = existingUser(emulator, call.params["id"]!);
  return json(200, { agreement: startAgreement(emulator, user.customerId, knownPlan(emulator, planKey)) });
}

function addFault(emulator: Emulator, call: Call, faults: Faults): Answer {
  const settings = parseBody(newFault, call);
  const id = faults.add(settings, emulator.wallNowMs());
  if (id === null) throw apiRefusal(409, "TOO_MANY_FAULTS", `There are ${FAULTS_MAX} faults already.`);
  return json(201, { id, settings });
}

function removeFaults({ query }: Call, faults: Faults): Answer {
  return json(200, { removed: faults.remove(query.get("id")) });
}

function rotateKeys(emulator: Emulator, call: Call): Answer {
  const { retireOld } = parseBody(z.strictObject({ retireOld: z.boolean().default(false) }), call);
  return json(200, { kid: emulator.keys.rotate(emulator.wallNowMs(), { retireOld }) });
}

/** What another writer would do: a delta that none of our senders knows of. */
function addUsage(emulator: Emulator, call: Call): Answer {
  const body = z.strictObject({ agreementId: z.string(), featureKey: z.string(), deltaUnits: z.int() });
  const { agreementId, featureKey, deltaUnits } = parseBody(body, call);
  const agreement = findAgreement(emulator, agreementId);
  if (agreement === null) throw apiRefusal(404, "AGREEMENT_NOT_FOUND", "There is no such agreement.");
  const write = { valueUnits: deltaUnits, type: "delta", usedAtMs: emulator.nowMs() } as const;
  const outcome = writeMeter(emulator, { agreement, featureKey }, write);
  if (outcome.kind === "refused") throw apiRefusal(400, outcome.code, outcome.message);
  return json(200, { recordId: outcome.recordId, totalUnits: liveTotal(emulator, agreement, featureKey) });
}

function showChanges(emulator: Emulator, call: Call): Answer {
  return json(200, { changes: changesAfter(emulator, numberAfter(call), CHANGES_MAX) });
}

function numberAfter({ query }: Call): number {
  const after = Number(query.get("after") ?? 0);
  if (!Number.isSafeInteger(after)) throw apiRefusal(400, "INVALID_REQUEST", "after must be a whole number");
  return after;
}

function knownPlan({ catalogue }: Emulator, planKey: string): string {
  if (findPlan(catalogue, planKey) === null)
    throw apiRefusal(400, "PLAN_NOT_FOUND", "There is no such plan.");
  return planKey;
}
