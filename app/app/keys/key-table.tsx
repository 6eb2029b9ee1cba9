"use client";

import { useMutation } from "convex/react";
import type { FunctionReturnType } from "convex/server";
import { useState } from "react";
import { api } from "../../../convex/_generated/api";
import { makeApiKey } from "../../components/api-key.ts";
import { Badge } from "../../components/badge.tsx";
import { Button } from "../../components/button.tsx";
import { ConfirmDialog } from "../../components/dialog.tsx";
import { type Column, Table } from "../../components/table.tsx";
import { Ago, Instant } from "../../components/time.tsx";
import { toast } from "../../components/toast.tsx";
import { SCOPES } from "./scopes.ts";
import type { MadeKey } from "./secret-dialog.tsx";

export type KeyView = FunctionReturnType<typeof api.apiKeys.listOwn>["apiKeys"][number];

/** Asked about a key before it is done. */
interface Asked {
  readonly act: "rotate" | "revoke";
  readonly key: KeyView;
}

const columnsOf = (ask: (act: Asked["act"], key: KeyView) => void): readonly Column<KeyView>[] => [
  {
    name: "Key",
    cell: ({ name, prefix, revokedAtMs }) => (
      <span className={revokedAtMs === null ? "" : "text-muted"}>
        <span className="font-medium">{name}</span>{" "}
        <code className="font-mono text-xs text-muted">{prefix}…</code>
      </span>
    ),
  },
  {
    name: "May",
    cell: ({ scopes }) => (
      <span className="text-muted">{scopes.length === SCOPES.length ? "everything" : scopes.join(", ")}</span>
    ),
  },
  { name: "Made", cell: ({ createdAtMs }) => <Instant ms={createdAtMs} /> },
  {
    name: "Last used",
    cell: ({ lastUsedAtMs }) =>
      lastUsedAtMs === null ? <span className="text-muted">never</span> : <Ago ms={lastUsedAtMs} />,
  },
  {
    name: "State",
    cell: ({ revokedAtMs }) =>
      revokedAtMs === null ? (
        <Badge tone="good">live</Badge>
      ) : (
        <span className="text-muted">
          revoked <Instant ms={revokedAtMs} />
        </span>
      ),
  },
  {
    name: "Actions",
    isActions: true,
    cell: (key) =>
      key.revokedAtMs === null && (
        <>
          <Button size="sm" onClick={() => ask("rotate", key)}>
            Rotate<span className="sr-only"> {key.name}</span>
          </Button>
          <Button size="sm" look="danger" onClick={() => ask("revoke", key)}>
            Revoke<span className="sr-only"> {key.name}</span>
          </Button>
        </>
      ),
  },
];

export function KeyTable({
  keys,
  onRotated,
}: {
  keys: readonly KeyView[];
  onRotated: (made: MadeKey) => void;
}) {
  const revoke = useMutation(api.apiKeys.revokeOwn);
  const rotate = useMutation(api.apiKeys.rotateOwn);
  const [asked, setAsked] = useState<Asked | null>(null);
  // Kept while the dialog fades out, so that its words do not change on the way.
  const [isAsking, setIsAsking] = useState(false);
  const ask = (act: Asked["act"], key: KeyView) => {
    setAsked({ act, key });
    setIsAsking(true);
  };

  async function onConfirm() {
    if (asked === null) return;
    const { act, key } = asked;
    if (act === "revoke") {
      const { kind } = await revoke({ apiKeyId: key.id });
      if (kind === "revoked") toast.done(`${key.name} is revoked`);
      else toast.failed("Not revoked", "The key is not there any more.");
      return;
    }
    const { secret, keyHash, prefix } = await makeApiKey();
    const answer = await rotate({ apiKeyId: key.id, keyHashNew: keyHash, prefix });
    if (answer.kind === "rotated") onRotated({ name: key.name, secret, isRotated: true });
    else toast.failed("Not rotated", "The key was revoked meanwhile.");
  }

  const isRevoke = asked?.act === "revoke";
  return (
    <>
      <Table label="API keys" columns={columnsOf(ask)} rows={keys} keyOf={({ id }) => id} />
      <ConfirmDialog
        isOpen={isAsking}
        onClose={() => setIsAsking(false)}
        title={`${isRevoke ? "Revoke" : "Rotate"} ${asked?.key.name ?? ""}?`}
        confirm={isRevoke ? "Revoke for good" : "Rotate now"}
        act={onConfirm}
      >
        {isRevoke ? (
          <p>Programs that use it are refused at once (401). A revoked key cannot be brought back.</p>
        ) : (
          <p>
            It gets a new secret under the same name and rights. The old one stops at once, so have the place
            open where the new one goes.
          </p>
        )}
      </ConfirmDialog>
    </>
  );
}
