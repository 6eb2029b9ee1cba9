/* eslint-disable */
/**
 * Generated `api` utility.
 *
 * THIS CODE IS AUTOMATICALLY GENERATED.
 *
 * To regenerate, run `npx convex dev`.
 * @module
 */

import type {
  ApiFromModules,
  FilterApi,
  FunctionReference,
} from "convex/server";
import type * as accountDeletion from "../accountDeletion.js";
import type * as accounts from "../accounts.js";
import type * as admission from "../admission.js";
import type * as agreements from "../agreements.js";
import type * as alerts from "../alerts.js";
import type * as allowances from "../allowances.js";
import type * as apiKeys from "../apiKeys.js";
import type * as audit from "../audit.js";
import type * as auditLog from "../auditLog.js";
import type * as clicks from "../clicks.js";
import type * as creditRows from "../creditRows.js";
import type * as credits from "../credits.js";
import type * as crons from "../crons.js";
import type * as customers from "../customers.js";
import type * as dataExport from "../dataExport.js";
import type * as doctor from "../doctor.js";
import type * as drift from "../drift.js";
import type * as driftRows from "../driftRows.js";
import type * as effects from "../effects.js";
import type * as engineRoom from "../engineRoom.js";
import type * as engineRoomRows from "../engineRoomRows.js";
import type * as engineRoomSteps from "../engineRoomSteps.js";
import type * as entries from "../entries.js";
import type * as entryRows from "../entryRows.js";
import type * as evidence from "../evidence.js";
import type * as exactIds from "../exactIds.js";
import type * as extension from "../extension.js";
import type * as functions from "../functions.js";
import type * as gate from "../gate.js";
import type * as gateBatch from "../gateBatch.js";
import type * as gateCalls from "../gateCalls.js";
import type * as gateTables from "../gateTables.js";
import type * as health from "../health.js";
import type * as inbox from "../inbox.js";
import type * as inboxEvents from "../inboxEvents.js";
import type * as inboxRows from "../inboxRows.js";
import type * as inboxTables from "../inboxTables.js";
import type * as inboxValidators from "../inboxValidators.js";
import type * as inboxWorker from "../inboxWorker.js";
import type * as jobEnds from "../jobEnds.js";
import type * as jobEvents from "../jobEvents.js";
import type * as kinde from "../kinde.js";
import type * as lab from "../lab.js";
import type * as labPurge from "../labPurge.js";
import type * as labRemoval from "../labRemoval.js";
import type * as labRows from "../labRows.js";
import type * as labSteps from "../labSteps.js";
import type * as ledger from "../ledger.js";
import type * as ledgerTables from "../ledgerTables.js";
import type * as limits from "../limits.js";
import type * as linkRows from "../linkRows.js";
import type * as links from "../links.js";
import type * as mergeAccounts from "../mergeAccounts.js";
import type * as meterStandings from "../meterStandings.js";
import type * as meterState from "../meterState.js";
import type * as operationTables from "../operationTables.js";
import type * as operatorRows from "../operatorRows.js";
import type * as ops from "../ops.js";
import type * as patience from "../patience.js";
import type * as preview from "../preview.js";
import type * as providers from "../providers.js";
import type * as reconcile from "../reconcile.js";
import type * as reconciler from "../reconciler.js";
import type * as refreshLease from "../refreshLease.js";
import type * as refusalRows from "../refusalRows.js";
import type * as reminders from "../reminders.js";
import type * as reporter from "../reporter.js";
import type * as reports from "../reports.js";
import type * as retention from "../retention.js";
import type * as retentionEvents from "../retentionEvents.js";
import type * as reviews from "../reviews.js";
import type * as rows from "../rows.js";
import type * as runner from "../runner.js";
import type * as runs from "../runs.js";
import type * as screensAccounts from "../screensAccounts.js";
import type * as screensEntries from "../screensEntries.js";
import type * as screensEstimates from "../screensEstimates.js";
import type * as screensEvents from "../screensEvents.js";
import type * as screensLists from "../screensLists.js";
import type * as screensOperators from "../screensOperators.js";
import type * as screensOverview from "../screensOverview.js";
import type * as screensPlans from "../screensPlans.js";
import type * as screensReconciliation from "../screensReconciliation.js";
import type * as screensRefusals from "../screensRefusals.js";
import type * as screensReminders from "../screensReminders.js";
import type * as screensUsage from "../screensUsage.js";
import type * as settings from "../settings.js";
import type * as shardCheck from "../shardCheck.js";
import type * as signIn from "../signIn.js";
import type * as sweeper from "../sweeper.js";
import type * as tombstone from "../tombstone.js";
import type * as validators from "../validators.js";

/**
 * A utility for referencing Convex functions in your app's API.
 *
 * Usage:
 * ```js
 * const myFunctionReference = api.myModule.myFunction;
 * ```
 */
declare const fullApi: ApiFromModules<{
  accountDeletion: typeof accountDeletion;
  accounts: typeof accounts;
  admission: typeof admission;
  agreements: typeof agreements;
  alerts: typeof alerts;
  allowances: typeof allowances;
  apiKeys: typeof apiKeys;
  audit: typeof audit;
  auditLog: typeof auditLog;
  clicks: typeof clicks;
  creditRows: typeof creditRows;
  credits: typeof credits;
  crons: typeof crons;
  customers: typeof customers;
  dataExport: typeof dataExport;
  doctor: typeof doctor;
  drift: typeof drift;
  driftRows: typeof driftRows;
  effects: typeof effects;
  engineRoom: typeof engineRoom;
  engineRoomRows: typeof engineRoomRows;
  engineRoomSteps: typeof engineRoomSteps;
  entries: typeof entries;
  entryRows: typeof entryRows;
  evidence: typeof evidence;
  exactIds: typeof exactIds;
  extension: typeof extension;
  functions: typeof functions;
  gate: typeof gate;
  gateBatch: typeof gateBatch;
  gateCalls: typeof gateCalls;
  gateTables: typeof gateTables;
  health: typeof health;
  inbox: typeof inbox;
  inboxEvents: typeof inboxEvents;
  inboxRows: typeof inboxRows;
  inboxTables: typeof inboxTables;
  inboxValidators: typeof inboxValidators;
  inboxWorker: typeof inboxWorker;
  jobEnds: typeof jobEnds;
  jobEvents: typeof jobEvents;
  kinde: typeof kinde;
  lab: typeof lab;
  labPurge: typeof labPurge;
  labRemoval: typeof labRemoval;
  labRows: typeof labRows;
  labSteps: typeof labSteps;
  ledger: typeof ledger;
  ledgerTables: typeof ledgerTables;
  limits: typeof limits;
  linkRows: typeof linkRows;
  links: typeof links;
  mergeAccounts: typeof mergeAccounts;
  meterStandings: typeof meterStandings;
  meterState: typeof meterState;
  operationTables: typeof operationTables;
  operatorRows: typeof operatorRows;
  ops: typeof ops;
  patience: typeof patience;
  preview: typeof preview;
  providers: typeof providers;
  reconcile: typeof reconcile;
  reconciler: typeof reconciler;
  refreshLease: typeof refreshLease;
  refusalRows: typeof refusalRows;
  reminders: typeof reminders;
  reporter: typeof reporter;
  reports: typeof reports;
  retention: typeof retention;
  retentionEvents: typeof retentionEvents;
  reviews: typeof reviews;
  rows: typeof rows;
  runner: typeof runner;
  runs: typeof runs;
  screensAccounts: typeof screensAccounts;
  screensEntries: typeof screensEntries;
  screensEstimates: typeof screensEstimates;
  screensEvents: typeof screensEvents;
  screensLists: typeof screensLists;
  screensOperators: typeof screensOperators;
  screensOverview: typeof screensOverview;
  screensPlans: typeof screensPlans;
  screensReconciliation: typeof screensReconciliation;
  screensRefusals: typeof screensRefusals;
  screensReminders: typeof screensReminders;
  screensUsage: typeof screensUsage;
  settings: typeof settings;
  shardCheck: typeof shardCheck;
  signIn: typeof signIn;
  sweeper: typeof sweeper;
  tombstone: typeof tombstone;
  validators: typeof validators;
}>;
export declare const api: FilterApi<
  typeof fullApi,
  FunctionReference<any, "public">
>;
export declare const internal: FilterApi<
  typeof fullApi,
  FunctionReference<any, "internal">
>;
