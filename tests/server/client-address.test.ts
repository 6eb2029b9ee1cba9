import { describe, expect, test } from "vitest";
import { clientOf, parseTrustedProxies } from "../../lib/server/client-address.ts";

describe("without trusted proxies the address of the connection counts, whatever the request says", () => {
  test.each([
    ["192.0.2.7", null, "192.0.2.7"],
    ["192.0.2.7", "203.0.113.1", "192.0.2.7"],
    ["::ffff:192.0.2.7", null, "192.0.2.7"],
    ["::1", "203.0.113.1", "0:0:0:0"],
    [undefined, "203.0.113.1", ""],
  ])("%s with %s", (remote, forwarded, client) => {
    expect(clientOf(remote, forwarded, 0)).toBe(client);
  });
});

describe("with trusted proxies", () => {
  test.each([
    [1, "203.0.113.1", "203.0.113.1"],
    [1, "198.51.100.9, 203.0.113.1", "203.0.113.1"],
    [2, "198.51.100.9, 203.0.113.1", "198.51.100.9"],
    [2, "made up, 198.51.100.9,203.0.113.1", "198.51.100.9"],
    // Fewer parts than proxies, or none that is an address: the chain is not what was configured.
    [2, "203.0.113.1", "10.0.0.1"],
    [1, "", "10.0.0.1"],
    [1, "unknown", "10.0.0.1"],
    [1, "203.0.113.1\r\nx", "10.0.0.1"],
    [1, "2001:DB8:1:2:3:4:5:6", "2001:db8:1:2"],
  ])("%d of them and %j: %s", (proxies, forwarded, client) => {
    expect(clientOf("10.0.0.1", forwarded, proxies)).toBe(client);
  });
});

describe("an entry is read as proxies write it", () => {
  test.each([
    ["203.0.113.1:5678", "203.0.113.1"],
    ['"203.0.113.1:5678"', "203.0.113.1"],
    ['"203.0.113.1"', "203.0.113.1"],
    ["[2001:db8:1:2::7]", "2001:db8:1:2"],
    ["[2001:db8:1:2::7]:4711", "2001:db8:1:2"],
    ['"[2001:db8:1:2::7]:4711"', "2001:db8:1:2"],
    ['198.51.100.9, "[2001:db8:1:2::7]:4711" ', "2001:db8:1:2"],
    ["fe80::1%eth0", "fe80:0:0:0"],
    ["::ffff:203.0.113.1", "203.0.113.1"],
    ["[::ffff:203.0.113.1]:80", "203.0.113.1"],
    ["::FFFF:cb00:7101", "203.0.113.1"],
    ["0:0:0:0:0:ffff:203.0.113.1", "203.0.113.1"],
  ])("%s: %s", (forwarded, client) => expect(clientOf("10.0.0.1", forwarded, 1)).toBe(client));
});

describe("what is no address counts for the proxy", () => {
  test.each([
    "unknown",
    "_hidden",
    "",
    "203.0.113.1:",
    "203.0.113.1:x",
    "203.0.113.1:123456",
    "203.0.113.256",
    "203.0.113.1.5:80",
    "[203.0.113.1]:80",
    "[2001:db8::1",
    "2001:db8::1]",
    "[2001:db8::1]x",
    '"203.0.113.1',
    '"',
    "''",
    "[]",
    "203.0.113.1 203.0.113.2",
    "for=203.0.113.1",
  ])("%j", (forwarded) => expect(clientOf("10.0.0.1", forwarded, 1)).toBe("10.0.0.1"));
});

describe("an IPv6 client is its network", () => {
  test.each([
    ["2001:db8:1:2:aaaa::1", "2001:db8:1:2"],
    ["2001:db8:1:2:bbbb:cccc:dddd:eeee", "2001:db8:1:2"],
    ["2001:0db8:0001:0002::", "2001:db8:1:2"],
    ["2001:db8::1", "2001:db8:0:0"],
    ["fe80::1%eth0", "fe80:0:0:0"],
    ["::", "0:0:0:0"],
    ["64:ff9b::203.0.113.1", "64:ff9b:0:0"],
    ["::ffff:cb00:7101", "203.0.113.1"],
  ])("%s: %s", (address, client) => expect(clientOf(address, null, 0)).toBe(client));
});

test.each([
  [undefined, 0],
  ["", 0],
  [" 2 ", 2],
  ["10", 10],
  ["11", null],
  ["-1", null],
  ["1.5", null],
  ["yes", null],
])("HOLDFAST_TRUSTED_PROXIES=%s is %s", (text, count) => expect(parseTrustedProxies(text)).toBe(count));
