import { cronJobs } from "convex/server";

import { internal } from "./_generated/api";

const crons = cronJobs();

crons.interval("sweep ended leases", { seconds: 15 }, internal.sweeper.run, {});
crons.interval("apply billing events", { seconds: 15 }, internal.inboxWorker.run, {});
crons.interval("deliver overdue reminders", { minutes: 1 }, internal.reminders.run, {});
crons.interval("send alerts", { minutes: 1 }, internal.alerts.run, {});
crons.interval("check for drift", { hours: 1 }, internal.drift.run, {});
crons.interval("report totals", { minutes: 1 }, internal.reporter.run, {});
crons.daily("reconcile meters", { hourUTC: 3, minuteUTC: 17 }, internal.reconciler.run, {});
crons.interval("audit budgets", { hours: 1 }, internal.audit.run, {});
crons.interval("purge old lab runs", { hours: 1 }, internal.labPurge.run, {});
crons.interval("remove what is too old", { hours: 1 }, internal.retention.run, {});

export default crons;
