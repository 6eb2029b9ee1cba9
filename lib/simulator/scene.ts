import { callerOf } from "./customer-acts.ts";
import type { Link } from "./clicks.ts";
import type { Actor, Scene } from "./perform.ts";
import type { Customer } from "./provider.ts";
import { OPERATOR_KEY_HASH } from "./server.ts";
import { scope } from "../server/api/answer-schemas.ts";
import { must } from "../shared/assert.ts";
import type { World } from "./world.ts";

/** When the customers signed up: their cycles end within the run, one after the other. */
const SIGNED_UP_MS = [
  Date.UTC(2026, 7, 31, 23, 58, 20),
  Date.UTC(2026, 8, 1, 0, 0, 40),
  Date.UTC(2026, 0, 1, 0, 2, 30),
];
const FIXED_ACCOUNTS = 2;
const LINKS = 2;

/** A fresh deployment with its first accounts, before anything goes wrong. */
export async function setScene(world: World): Promise<Scene> {
  await world.deployment.start();
  const actors: Actor[] = [];
  const operator = world.server.as(OPERATOR_KEY_HASH);
  for (let number = 1; number <= FIXED_ACCOUNTS; number += 1) {
    const name = `tenant ${number}`;
    const made = await operator.mutation<{ account: { id: string } }>("accounts:create", {
      name,
      limitUnits: 10_000,
      jobsPerMinute: 30,
      cycleAnchor: "2026-01-01T00:00:00Z",
    });
    actors.push(await equip(world, name, answered(made).account.id, null, actors.length + 1));
  }
  for (const [index, signedUpAtMs] of SIGNED_UP_MS.entries()) {
    const name = `customer-${index + 1}`;
    const customer = world.provider.signUp(name, signedUpAtMs);
    const made = await world.server.call<{ accountId: string }>(
      "action",
      "signIn:enter",
      {},
      callerOf(customer),
    );
    actors.push(await equip(world, name, answered(made).accountId, customer, actors.length + 1));
  }
  return { world, actors, requests: [], reminders: [] };
}

async function equip(
  { server, clock }: World,
  name: string,
  accountId: string,
  customer: Customer | null,
  number: number,
): Promise<Actor> {
  const keyHash = number.toString(16).padStart(64, "0");
  await server.as(OPERATOR_KEY_HASH).mutation("apiKeys:create", {
    accountId,
    keyHashNew: keyHash,
    prefix: "hf_live_test",
    name: "simulated",
    scopes: scope.options,
  });
  const links: Link[] = [];
  for (let count = 0; count < LINKS; count += 1) {
    const made = await server
      .as(keyHash)
      .mutation<{ link: { id: string } }>("links:create", { target: "https://example.com/" });
    links.push({ linkId: answered(made).link.id, accountId, sinceMs: Math.ceil(clock.nowMs()) });
  }
  return { name, accountId, keyHash, customer, links };
}

function answered<Answer>(answer: Answer | null): Answer {
  return must(answer, "before the trouble every call is answered");
}
