import { expect } from "vitest";

import type { Scenario } from "./scenario.ts";

const ZOE = { issuer: "https://issuer.example", subject: "kp_zoe", name: "Zoë", email: "z@x.org" };

export const identity: Scenario[] = [
  {
    name: "a function learns who is signed in, and what the token says of them",
    async run(engine) {
      expect(await engine.as(ZOE).query("identity:whole")).toEqual({
        ...ZOE,
        tokenIdentifier: "https://issuer.example|kp_zoe",
      });
      expect(await engine.query("identity:whole")).toBeNull();
    },
  },
  {
    name: "calls inside a mutation are made by the same user",
    async run(engine) {
      expect(await engine.as(ZOE).mutation("identity:inMutation")).toEqual(["kp_zoe", "kp_zoe", "kp_zoe"]);
    },
  },
  {
    name: "calls inside an action are made by the same user",
    async run(engine) {
      expect(await engine.as(ZOE).action("identity:inAction")).toEqual(Array(4).fill("kp_zoe"));
    },
  },
  {
    name: "what a mutation scheduled runs as nobody",
    async run(engine) {
      await engine.as(ZOE).mutation("identity:schedule");
      await engine.advanceMs(1);
      expect(await engine.query("jobs:notes")).toEqual(["mutation by null"]);
    },
  },
  {
    name: "what an action scheduled runs as nobody",
    async run(engine) {
      await engine.as(ZOE).action("identity:scheduleFromAction");
      await engine.advanceMs(1);
      expect(await engine.query("jobs:notes")).toEqual(["mutation by null"]);
    },
  },
  {
    name: "two users at once stay apart",
    async run(engine) {
      const subjects = ["kp_1", "kp_2", "kp_3", "kp_4"];
      const asked = subjects.map((subject) => engine.as({ ...ZOE, subject }).action("identity:inAction"));
      expect(await Promise.all(asked)).toEqual(subjects.map((subject) => Array(4).fill(subject)));
    },
  },
];
