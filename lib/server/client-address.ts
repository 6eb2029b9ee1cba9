import { isIP } from "node:net";

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

/**
 * Who a request counts for. `forwardedFor` is the header X-Forwarded-For: each proxy adds at its end whom it was asked
 * by, so what stands further left than the trusted proxies wrote is anybody's invention. Without trusted proxies it is
 * not read at all. An IPv6 client is known by its network (the first 64 bits), since it can take any address in that.
 */
export function clientOf(
  remoteAddress: string | undefined,
  forwardedFor: string | null,
  trustedProxies: number,
): string {
  const direct = remoteAddress ?? "";
  if (trustedProxies === 0 || forwardedFor === null) return networkOf(direct);
  const said = forwardedFor.split(",").at(-trustedProxies)?.trim() ?? "";
  return networkOf(isIP(said) === 0 ? direct : said);
}

function networkOf(address: string): string {
  const plain = address.replace(/%.*$/, "").toLowerCase();
  if (isIP(plain) !== 6) return plain;
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/.exec(plain)?.[1];
  if (mapped !== undefined) return mapped;
  const [head = "", tail] = plain.split("::");
  const left = head === "" ? [] : head.split(":");
  const right = tail === undefined || tail === "" ? [] : tail.split(":");
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - left.length - right.length);
  const groups = [...left, ...Array<string>(zeros).fill("0"), ...right];
  return groups
    .slice(0, 4)
    .map((group) => group.replace(/^0+(?=.)/, ""))
    .join(":");
}
