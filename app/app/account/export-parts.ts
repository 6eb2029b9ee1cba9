import type { ConvexReactClient } from "convex/react";
import type { FunctionArgs, FunctionReturnType } from "convex/server";
import { api } from "../../../convex/_generated/api";
import type { ExportPage, ExportPart } from "./gather-export.ts";

/** What the lists of the API take at once. */
const LIST_LIMIT = 100;

/** What the file has, in its order. Secrets of keys are not stored, so no export can have them. */
export function exportParts(client: ConvexReactClient): ExportPart[] {
  const { dataExport } = api;
  const list = (cursor: string | null) => ({ cursor, limit: LIST_LIMIT });
  const entries = async (
    feature: FunctionArgs<typeof dataExport.entries>["feature"],
    cursor: string | null,
  ) => await client.query(dataExport.entries, { feature, cursor });
  return [
    once("usage", async () => {
      const { cycles, limitState, limit } = await client.query(dataExport.usage, {});
      return [{ limitState, limit }, ...cycles];
    }),
    {
      name: "jobs",
      read: async (cursor) => {
        const page = await client.query(api.gate.listJobs, list(cursor));
        return { rows: page.jobs, cursor: page.cursor };
      },
    },
    { name: "refusals", read: (cursor) => client.query(dataExport.refusals, { cursor }) },
    { name: "entries", read: (cursor) => entries("tokens", cursor) },
    { name: "clicks", read: (cursor) => entries("clicks", cursor) },
    { name: "links", read: (cursor) => client.query(dataExport.links, { cursor }) },
    {
      name: "reminders",
      read: async (cursor) => {
        const page = await client.query(api.reminders.list, list(cursor));
        return { rows: page.reminders, cursor: page.cursor };
      },
    },
    { name: "credits", read: (cursor) => client.query(dataExport.credits, { cursor }) },
    { name: "events", read: (cursor) => readEvents(client, cursor) },
    once("planChanges", async () => (await readBilling(client)).planChanges),
    once("payments", async () => (await readBilling(client)).payments),
    once("agreements", async () => (await readBilling(client)).agreements),
    once("keys", async () => (await client.query(api.apiKeys.listOwn, {})).apiKeys),
  ];
}

/** A page of events, each with its whole body. */
async function readEvents(client: ConvexReactClient, cursor: string | null): Promise<ExportPage> {
  const page = await client.query(api.dataExport.events, { cursor });
  const rows = [];
  for (const { nextPart, ...event } of page.rows) {
    let { body } = event;
    let from = nextPart;
    while (from !== null) {
      // oxlint-disable-next-line no-await-in-loop -- the next parts begin where these end
      const more = await client.query(api.dataExport.eventBody, { id: event.id, from });
      body += more.body;
      from = more.nextPart;
    }
    rows.push({ ...event, body });
  }
  return { rows, cursor: page.cursor };
}

function readBilling(client: ConvexReactClient): Promise<FunctionReturnType<typeof api.dataExport.billing>> {
  return client.query(api.dataExport.billing, {});
}

function once(name: string, read: () => Promise<readonly unknown[]>): ExportPart {
  return { name, read: async () => ({ rows: await read(), cursor: null }) };
}
