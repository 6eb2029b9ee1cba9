import { isIP } from "node:net";
import type { SettingsFault } from "../kinde/environment.ts";

const TRUSTED_PROXIES = "HOLDFAST_TRUSTED_PROXIES";

/** More than a few proxies in a row are a mistake in the settings. */
const TRUSTED_PROXIES_MAX = 10;

/**
 * `HOLDFAST_TRUSTED_PROXIES`: how many proxies of one's own stand in front. 0 when it is not set; null for anything
 * but a whole number up to 10.
 */
export function parseTrustedProxies(text = ""): number | null {
  if (text.trim() === "") return 0;
  const count = /^\d+$/.test(text.trim()) ? Number(text) : Number.NaN;
  return count <= TRUSTED_PROXIES_MAX ? count : null;
}

/** What is wrong with the setting, if anything. `npm start` asks before it starts a part. */
export function proxyFaults(env: Readonly<Record<string, string | undefined>>): SettingsFault[] {
  if (parseTrustedProxies(env[TRUSTED_PROXIES]) !== null) return [];
  const problem = `must be the number of proxies in front, from 0 to ${TRUSTED_PROXIES_MAX}`;
  return [{ variable: TRUSTED_PROXIES, message: `${TRUSTED_PROXIES} ${problem}` }];
}

/**
 * Who a request counts for. `forwardedFor` is the header X-Forwarded-For: each proxy adds at its end whom it was asked
 * by, so what stands further left than the trusted proxies wrote is anybody's invention. Without trusted proxies it is
 * not read at all. An IPv6 client is known by its network (the first 64 bits), since it can take any address in that.
 * Where the entry is missing or holds no address, the request counts for the proxy that the connection comes from.
 */
export function clientOf(
  remoteAddress: string | undefined,
  forwardedFor: string | null,
  trustedProxies: number,
): string {
  const direct = remoteAddress ?? "";
  if (trustedProxies === 0 || forwardedFor === null) return networkOf(direct);
  const said = addressIn(forwardedFor.split(",").at(-trustedProxies) ?? "");
  return networkOf(said ?? direct);
}

/** An entry may have a port, and be quoted then (RFC 7239, section 6); an IPv6 address with one is in brackets. */
const QUOTED = /^"(.*)"$/;
const BRACKETED = /^\[([^\]]*)\](?::\d{1,5})?$/;
const WITH_PORT = /^([\d.]+):\d{1,5}$/;

/** The address that an entry holds; null for anything else. */
function addressIn(entry: string): string | null {
  const trimmed = entry.trim();
  const text = QUOTED.exec(trimmed)?.[1] ?? trimmed;
  const bracketed = BRACKETED.exec(text)?.[1];
  if (bracketed !== undefined) return isIP(bracketed) === 6 ? bracketed : null;
  const address = WITH_PORT.exec(text)?.[1] ?? text;
  return isIP(address) === 0 ? null : address;
}

function networkOf(address: string): string {
  const plain = address.replace(/%.*$/, "").toLowerCase();
  if (isIP(plain) !== 6) return plain;
  const groups = groupsOf(plain);
  const isMapped = groups.slice(0, 5).every((group) => group === "0") && groups[5] === "ffff";
  if (!isMapped) return groups.slice(0, 4).join(":");
  const bytes = groups.slice(6).flatMap((group) => {
    const value = Number.parseInt(group, 16);
    return [Math.floor(value / 256), value % 256];
  });
  return bytes.join(".");
}

/** The eight groups of an IPv6 address in lower case, without leading zeros. */
function groupsOf(address: string): string[] {
  const [head = "", tail] = withoutDots(address).split("::");
  const left = head === "" ? [] : head.split(":");
  const right = tail === undefined || tail === "" ? [] : tail.split(":");
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - left.length - right.length);
  const groups = [...left, ...Array<string>(zeros).fill("0"), ...right];
  return groups.map((group) => group.replace(/^0+(?=.)/, ""));
}

/** The last 32 bits may be written as an IPv4 address; here they are two groups as the others. */
function withoutDots(address: string): string {
  return address.replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)$/, (_, ...parts: string[]) => {
    const [a = 0, b = 0, c = 0, d = 0] = parts.slice(0, 4).map(Number);
    return `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
  });
}
