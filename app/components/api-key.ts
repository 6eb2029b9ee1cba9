/** Random bytes behind a key: 256 bits, 43 characters of base64url. As in lib/server/api-keys.ts. */
const KEY_BYTES = 32;
/** `hf_live_` and four more: enough to tell keys apart. */
const PREFIX_LENGTH = 12;

/** Makes an API key with the browser's own cryptography. Only its hash and the prefix are sent anywhere. */
export async function makeApiKey(): Promise<{ secret: string; keyHash: string; prefix: string }> {
  const bytes = crypto.getRandomValues(new Uint8Array(KEY_BYTES));
  const text = btoa(String.fromCodePoint(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");
  const secret = `hf_live_${text}`;
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(secret));
  const keyHash = Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
  return { secret, keyHash, prefix: secret.slice(0, PREFIX_LENGTH) };
}
