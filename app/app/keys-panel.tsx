"use client";

import { useMutation, useQuery } from "convex/react";
import { type FormEvent, useState } from "react";
import { api } from "../../convex/_generated/api";
import { makeApiKey } from "../components/api-key.ts";
import { formatInstant } from "../components/format.ts";
import { buttonClass, inputClass, Loading, Panel, primaryButtonClass } from "../components/panel.tsx";
import { useNow } from "../components/use-now.ts";

const SCOPES = [
  "jobs:read",
  "jobs:write",
  "usage:read",
  "links:read",
  "links:write",
  "events:replay",
  "reminders:write",
] as const;

/** API keys of the account. A key is made in this browser and leaves it only as a hash, so it is shown just once. */
export function KeysPanel() {
  const listed = useQuery(api.apiKeys.listOwn, {});
  const create = useMutation(api.apiKeys.createOwn);
  const [made, setMade] = useState<{ name: string; secret: string } | null>(null);
  const [fault, setFault] = useState<string | null>(null);

  async function onSubmit(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    const form = event.currentTarget;
    const name = (new FormData(form).get("name") as string).trim();
    try {
      const { secret, keyHash, prefix } = await makeApiKey();
      await create({ keyHashNew: keyHash, prefix, name, scopes: [...SCOPES] });
      setMade({ name, secret });
      setFault(null);
      form.reset();
    } catch {
      setFault("The key was not made. An account has at most 50 live keys; revoke one, or try again.");
    }
  }

  return (
    <Panel id="keys" title="API keys">
      <form onSubmit={(event) => void onSubmit(event)} className="flex flex-wrap items-end gap-4">
        <label className="flex min-w-48 flex-1 flex-col gap-1 text-sm">
          Name of a new key
          <input
            name="name"
            required
            maxLength={200}
            placeholder="production worker"
            className={inputClass}
          />
        </label>
        <button type="submit" className={primaryButtonClass}>
          Make a key
        </button>
      </form>
      <div role="status" className="text-sm">
        {fault !== null && <p className="text-bad">{fault}</p>}
        {made !== null && (
          <div className="flex flex-col gap-2 rounded border border-accent p-3">
            <p>
              Copy the key <strong>{made.name}</strong> now. It is stored as a hash and cannot be shown again.
            </p>
            <code className="font-mono break-all select-all">{made.secret}</code>
            <p className="flex gap-2">
              <button
                type="button"
                className={buttonClass}
                onClick={() => void navigator.clipboard.writeText(made.secret)}
              >
                Copy
              </button>
              <button type="button" className={buttonClass} onClick={() => setMade(null)}>
                I have it
              </button>
            </p>
          </div>
        )}
      </div>
      {listed === undefined ? (
        <Loading what="your keys" />
      ) : listed.apiKeys.length === 0 ? (
        <p className="text-sm text-muted">No key yet. Programs use one as a bearer token of the API.</p>
      ) : (
        <ul className="flex flex-col divide-y divide-line">
          {listed.apiKeys.map((key) => (
            <KeyRow key={key.id} apiKey={key} />
          ))}
        </ul>
      )}
    </Panel>
  );
}

interface KeyView {
  readonly id: string;
  readonly prefix: string;
  readonly name: string;
  readonly createdAtMs: number;
  readonly revokedAtMs: number | null;
  readonly lastUsedAtMs: number | null;
}

function KeyRow({ apiKey }: { apiKey: KeyView }) {
  const revoke = useMutation(api.apiKeys.revokeOwn);
  const [isAsking, setIsAsking] = useState(false);
  const hasMounted = useNow() !== null;
  const isLive = apiKey.revokedAtMs === null;
  return (
    <li className="flex flex-wrap items-center gap-x-4 gap-y-1 py-3 text-sm">
      <p className={`min-w-0 flex-1 ${isLive ? "" : "text-muted line-through"}`}>
        <span className="font-medium">{apiKey.name}</span> <code className="font-mono">{apiKey.prefix}…</code>
      </p>
      {hasMounted && (
        <p className="text-muted">
          {isLive
            ? apiKey.lastUsedAtMs === null
              ? "never used"
              : `last used ${formatInstant(apiKey.lastUsedAtMs)}`
            : `revoked ${formatInstant(apiKey.revokedAtMs ?? 0)}`}
        </p>
      )}
      {isLive &&
        (isAsking ? (
          <p className="flex items-center gap-2">
            Programs that use it stop at once.
            <button
              type="button"
              className={buttonClass}
              onClick={() => void revoke({ apiKeyId: apiKey.id })}
            >
              Revoke for good
            </button>
            <button type="button" className={buttonClass} onClick={() => setIsAsking(false)}>
              Keep
            </button>
          </p>
        ) : (
          <button type="button" className={buttonClass} onClick={() => setIsAsking(true)}>
            Revoke
          </button>
        ))}
    </li>
  );
}
