import { describe, expect, test } from "vitest";
import { InboxModel, event } from "./model.ts";

const AT = "2026-10-20T12:00:00Z";
const NOW = Date.parse(AT);
const paid = (id: string) => event("customer.payment_succeeded", AT, {}, id);
const flagsOf = (inbox: InboxModel) => inbox.receipts.map(({ flags }) => flags);

describe("identity", () => {
  test("C28: a genuine body with another webhook-id, with none, and through two endpoints: applied once", () => {
    const inbox = new InboxModel();
    const body = paid("event_a");
    for (const webhookId of ["webhook_1", "webhook_2", null, "webhook_1"])
      inbox.deliver(body, NOW, { webhookId });
    inbox.work(NOW);
    expect(inbox.events.size).toBe(1);
    expect(inbox.events.get("event:event_a")!.progress).toMatchObject({ status: "applied", seenCount: 4 });
    expect(inbox.state.paymentFacts).toHaveLength(1);
    expect(flagsOf(inbox)).toEqual([[], [], [], []]);
  });

  test("C28: another event under the same webhook-id is stored as its own and flagged", () => {
    const inbox = new InboxModel();
    inbox.deliver(paid("event_a"), NOW, { webhookId: "webhook_1" });
    inbox.deliver(paid("event_b"), NOW, { webhookId: "webhook_1" });
    inbox.work(NOW);
    expect(inbox.state.paymentFacts.map(({ eventId }) => eventId)).toEqual(["event_a", "event_b"]);
    expect(flagsOf(inbox)).toEqual([[], ["webhook_id_reused"]]);
  });

  test("C28: the same event with another body keeps the first and is flagged", () => {
    const inbox = new InboxModel();
    inbox.deliver(paid("event_a"), NOW);
    inbox.deliver(event("user.deleted", AT, {}, "event_a"), NOW);
    inbox.work(NOW);
    expect(inbox.events.get("event:event_a")).toMatchObject({ body: { type: "customer.payment_succeeded" } });
    expect(inbox.state.account?.deletedAtMs).toBeNull();
    expect(flagsOf(inbox)).toEqual([[], ["other_body"]]);
  });

  test("C35: a malformed body is dead, keyed by its hash; its copies are known by hash or by webhook-id", () => {
    const inbox = new InboxModel();
    inbox.deliver({ type: "x" }, NOW, { hash: "h1", webhookId: "webhook_1" });
    inbox.deliver({ type: "x" }, NOW, { hash: "h1" });
    inbox.deliver({ type: "y" }, NOW, { hash: "h2", webhookId: "webhook_1" });
    inbox.deliver({ type: "z" }, NOW, { hash: "h3", webhookId: "webhook_2" });
    inbox.work(NOW);
    expect([...inbox.events.keys()]).toEqual(["hash:h1", "hash:h3"]);
    expect(inbox.events.get("hash:h1")!.progress).toMatchObject({
      status: "dead",
      seenCount: 3,
      attempts: 0,
      result: "malformed: event_id is not a text of 1 to 200 characters",
    });
    expect(flagsOf(inbox)).toEqual([[], [], ["other_body"], []]);
  });

  test("C28: a malformed body under the webhook-id of a real event does not hide behind it", () => {
    const inbox = new InboxModel();
    inbox.deliver(paid("event_a"), NOW, { webhookId: "webhook_1" });
    inbox.deliver({}, NOW, { hash: "h1", webhookId: "webhook_1" });
    expect([...inbox.events.keys()]).toEqual(["event:event_a", "hash:h1"]);
    expect(flagsOf(inbox)).toEqual([[], ["webhook_id_reused"]]);
  });
});

describe("age", () => {
  test("C29: 35 h old is worked on, 8 days old waits with its reason until an operator releases it", () => {
    const inbox = new InboxModel();
    inbox.deliver(event("customer.payment_succeeded", "2026-10-19T01:00:00Z", {}, "event_a"), NOW);
    inbox.deliver(event("customer.payment_succeeded", "2026-10-12T12:00:00Z", {}, "event_b"), NOW);
    inbox.deliver(event("customer.payment_succeeded", "2026-10-20T12:02:00Z", {}, "event_c"), NOW);
    inbox.work(NOW);
    const statuses = () => [...inbox.events.values()].map(({ progress }) => progress.status);
    expect(statuses()).toEqual(["applied", "quarantined", "applied"]);
    expect(inbox.events.get("event:event_b")!.progress.result).toContain("8.0 days");
    inbox.replay("event:event_b", NOW);
    inbox.work(NOW);
    expect(statuses()).toEqual(["applied", "applied", "applied"]);
  });
});
