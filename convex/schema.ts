import { defineSchema } from "convex/server";

import { gateTables } from "./gateTables";
import { inboxTables } from "./inboxTables";
import { ledgerTables } from "./ledgerTables";
import { operationTables } from "./operationTables";

export default defineSchema({ ...gateTables, ...ledgerTables, ...inboxTables, ...operationTables });
