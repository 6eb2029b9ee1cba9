import { createServer, type Server } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { freePort, probePort, requirePort } from "../../scripts/support/ports.ts";

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

async function takenPort(): Promise<number> {
  const port = await freePort();
  const server = createServer();
  servers.push(server);
  return new Promise((resolve) => server.listen(port, "127.0.0.1", () => resolve(port)));
}

const use = (port: number, host = "127.0.0.1") => ({
  what: "the app",
  host,
  port,
  option: "--port",
  hostOption: "--host",
});

describe("a port", () => {
  test("that nothing listens on is free", async () => {
    const port = await freePort();
    expect(await probePort("127.0.0.1", port)).toBe("free");
    await expect(requirePort(use(port), 0)).resolves.toBeUndefined();
  });

  test("in use gives one line naming the port and the option that changes it", async () => {
    const port = await takenPort();
    await expect(requirePort(use(port), 0)).rejects.toThrow(
      `port ${port} (the app) is in use; choose another with --port`,
    );
  });

  test("whose owner is ending is waited for", async () => {
    const port = await takenPort();
    const waiting = requirePort(use(port), 5000);
    servers[0]?.close();
    await expect(waiting).resolves.toBeUndefined();
  });

  test("on an address of another machine names the option for the host", async () => {
    await expect(requirePort(use(await freePort(), "192.0.2.1"), 0)).rejects.toThrow(
      "192.0.2.1 is not an address of this machine; choose another with --host",
    );
  });
});
