import { expect } from "vitest";

import type { Scenario } from "./scenario.ts";

export const http: Scenario[] = [
  {
    name: "an HTTP action sees method, path, query, headers and body",
    async run(engine) {
      const body = new Uint8Array([0, 1, 128, 255]);
      const posted = await engine.fetch("/show?a=%20b", { method: "POST", headers: { "x-own": "y" }, body });
      expect(await posted.json()).toEqual({
        method: "POST",
        path: "/show",
        search: "?a=%20b",
        own: "y",
        body: [0, 1, 128, 255],
      });
      const options = await engine.fetch("/show", { method: "OPTIONS" });
      expect(await options.json()).toMatchObject({ method: "OPTIONS", body: [] });
    },
  },
  {
    name: "an exact path comes before a prefix, and status and headers arrive",
    async run(engine) {
      const exact = await engine.fetch("/below/exactly");
      expect([exact.status, exact.headers.get("x-answer"), await exact.text()]).toEqual([
        202,
        "yes",
        "exact",
      ]);
      expect(await (await engine.fetch("/below/else/where")).json()).toMatchObject({
        path: "/below/else/where",
      });
    },
  },
  {
    name: "a path or a method that is not routed is 404",
    async run(engine) {
      expect((await engine.fetch("/nowhere")).status).toBe(404);
      expect((await engine.fetch("/show", { method: "DELETE" })).status).toBe(404);
      expect((await engine.fetch("/below")).status).toBe(404);
    },
  },
  {
    name: "the text of a 404 is Convex's",
    async run(engine) {
      expect(await (await engine.fetch("/nowhere")).text()).toBe("No matching routes found");
    },
  },
  {
    name: "HEAD runs what is routed for GET and has no body",
    async run(engine) {
      const response = await engine.fetch("/below/exactly", { method: "HEAD" });
      expect([response.status, response.headers.get("x-answer"), await response.text()]).toEqual([
        202,
        "yes",
        "",
      ]);
    },
  },
  {
    name: "an HTTP action runs internal functions, each its own transaction",
    async run(engine) {
      expect(await (await engine.fetch("/count", { method: "POST" })).json()).toBe(1);
      expect(await (await engine.fetch("/count", { method: "POST" })).json()).toBe(2);
    },
  },
  {
    name: "an HTTP action knows who is signed in",
    async run(engine) {
      const zoe = engine.as({ issuer: "https://issuer.example", subject: "kp_zoe" });
      expect(await (await zoe.fetch("/who")).json()).toEqual(["kp_zoe", "kp_zoe"]);
      expect(await (await engine.fetch("/who")).json()).toEqual([null, null]);
    },
  },
];
