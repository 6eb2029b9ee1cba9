import type { Doc, Id } from "./_generated/dataModel";
import type { QueryCtx } from "./_generated/server";
import { findAccountOfCustomer, findAccountOfUser } from "./rows";

/**
 * What an operator's search text names exactly, looked up by index, so that it is found whatever its age. A text that
 * names nothing is a part of a name, and the lists look for that page by page.
 */

type Reader = Pick<QueryCtx, "db">;

/** Of one email, one subject or one webhook id. More than a few is no exact hit any more. */
const SAME_MAX = 20;

/**
 * Accounts by an id of ours, of the provider's user or customer, of an agreement or a meter, or by their email. Where
 * the text is an account's own id, that one alone.
 */
export async function accountsNamed(ctx: Reader, text: string | undefined): Promise<Doc<"accounts">[]> {
  const name = text?.trim() ?? "";
  if (name === "") return [];
  const id = ctx.db.normalizeId("accounts", name);
  const own = id === null ? null : await ctx.db.get(id);
  if (own !== null) return [own];
  const found = [
    await findAccountOfUser(ctx, name),
    await findAccountOfCustomer(ctx, name),
    ...(await ofEmail(ctx, name)),
    await accountOf(ctx, await ofAgreement(ctx, name)),
    await accountOf(ctx, await ofMeter(ctx, name)),
  ];
  const byId = new Map(found.flatMap((account) => (account === null ? [] : [[account._id, account]])));
  return [...byId.values()];
}

/** Emails are kept as they were told, which is lower case for nearly all of them. */
async function ofEmail(ctx: Reader, name: string): Promise<Doc<"accounts">[]> {
  if (!name.includes("@")) return [];
  const found: Doc<"accounts">[] = [];
  for (const email of new Set([name, name.toLowerCase()])) {
    const rows = ctx.db.query("accounts").withIndex("by_email", (q) => q.eq("email", email));
    found.push(...(await rows.take(SAME_MAX)));
  }
  return found;
}

async function ofAgreement(ctx: Reader, agreementId: string): Promise<Id<"accounts"> | null> {
  const row = await ctx.db
    .query("agreements")
    .withIndex("by_agreement", (q) => q.eq("agreementId", agreementId))
    .first();
  return row?.accountId ?? null;
}

async function ofMeter(ctx: Reader, name: string): Promise<Id<"accounts"> | null> {
  const id = ctx.db.normalizeId("meters", name);
  return id === null ? null : ((await ctx.db.get(id))?.accountId ?? null);
}

function accountOf(ctx: Reader, id: Id<"accounts"> | null): Promise<Doc<"accounts"> | null> {
  return id === null ? Promise.resolve(null) : ctx.db.get(id);
}

/** Events by their own id, by that of the provider, or by the webhook id of their first delivery. */
export async function eventsNamed(ctx: Reader, text: string | undefined): Promise<Doc<"inboxEvents">[]> {
  const name = text?.trim() ?? "";
  if (name === "") return [];
  const id = ctx.db.normalizeId("inboxEvents", name);
  const own = id === null ? null : await ctx.db.get(id);
  if (own !== null) return [own];
  const ofKey = await ctx.db
    .query("inboxEvents")
    .withIndex("by_event_key", (q) => q.eq("eventKey", `event:${name}`))
    .take(SAME_MAX);
  if (ofKey.length > 0) return ofKey;
  return await ctx.db
    .query("inboxEvents")
    .withIndex("by_webhook", (q) => q.eq("webhookId", name))
    .take(SAME_MAX);
}

/** Reviews by their own id, or by what they are about; of a dead event by the provider's id of it as well. */
export async function reviewsNamed(ctx: Reader, text: string | undefined): Promise<Doc<"reviews">[]> {
  const name = text?.trim() ?? "";
  if (name === "") return [];
  const id = ctx.db.normalizeId("reviews", name);
  const own = id === null ? null : await ctx.db.get(id);
  if (own !== null) return [own];
  const found: Doc<"reviews">[] = [];
  for (const subject of [name, `event:${name}`]) {
    const rows = ctx.db.query("reviews").withIndex("by_subject", (q) => q.eq("subject", subject));
    found.push(...(await rows.order("desc").take(SAME_MAX)));
  }
  return found;
}
