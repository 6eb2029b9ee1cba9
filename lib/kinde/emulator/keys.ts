/** Signing keys: one signs, published ones still verify, retired ones are gone from the JWKS. */
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
  verify,
} from "node:crypto";
import { must } from "../../shared/assert.ts";
import type { Storage } from "./storage.ts";

interface KeyRow {
  kid: string;
  private_pem: string;
  state: "current" | "published" | "retired";
}

interface LoadedKey {
  kid: string;
  state: KeyRow["state"];
  privateKey: KeyObject;
  publicKey: KeyObject;
}

export interface SigningKeys {
  sign(input: string): { kid: string; signature: Buffer };
  verifies(kid: string, input: string, signature: Buffer): boolean;
  currentKid(): string;
  jwks(): { keys: Record<string, unknown>[] };
  /** Makes a new signing key. With `retireOld` tokens of the old ones no longer verify anywhere. */
  rotate(nowMs: number, options: { retireOld: boolean }): string;
}

/** RS256 signature input and output as plain calls: jose's are asynchronous, which would open transactions up. */
export function openKeys(storage: Storage, nowMs: number): SigningKeys {
  let keys = load(storage);

  function rotate(nowMs: number, { retireOld }: { retireOld: boolean }): string {
    const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
    const kid = fingerprint(publicKey);
    storage.transaction(() => {
      const state = retireOld ? "retired" : "published";
      storage.run("UPDATE signing_keys SET state = ? WHERE state <> 'retired'", state);
      storage.run(
        "INSERT INTO signing_keys (kid, private_pem, made_at_ms, state) VALUES (?, ?, ?, 'current')",
        kid,
        privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
        nowMs,
      );
    });
    keys = load(storage);
    return kid;
  }

  if (keys.length === 0) rotate(nowMs, { retireOld: false });
  const current = (): LoadedKey =>
    must(
      keys.find((key) => key.state === "current"),
      "no signing key is current",
    );
  return {
    sign(input) {
      const key = current();
      return { kid: key.kid, signature: sign("RSA-SHA256", Buffer.from(input), key.privateKey) };
    },
    verifies(kid, input, signature) {
      const key = keys.find((key) => key.kid === kid);
      return key !== undefined && verify("RSA-SHA256", Buffer.from(input), key.publicKey, signature);
    },
    currentKid: () => current().kid,
    jwks: () => ({
      keys: keys.map(({ kid, publicKey }) => ({
        ...publicKey.export({ format: "jwk" }),
        kid,
        // The SDK's validator refuses a key without it.
        use: "sig",
        alg: "RS256",
      })),
    }),
    rotate,
  };
}

function load(storage: Storage): LoadedKey[] {
  return storage
    .all<KeyRow>(
      "SELECT kid, private_pem, state FROM signing_keys WHERE state <> 'retired' ORDER BY made_at_ms",
    )
    .map(({ kid, private_pem, state }) => {
      const privateKey = createPrivateKey(private_pem);
      return { kid, state, privateKey, publicKey: createPublicKey(privateKey) };
    });
}

/** Sixteen bytes in hex with colons, the look of Kinde's key ids. */
function fingerprint(key: KeyObject): string {
  const digest = createHash("sha256")
    .update(key.export({ type: "spki", format: "der" }))
    .digest("hex");
  return digest.slice(0, 32).match(/../g)!.join(":");
}
