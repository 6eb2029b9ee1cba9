"use client";

import { useQuery } from "convex/react";
import { KeyRound, Plus } from "lucide-react";
import { useState } from "react";
import { api } from "../../../convex/_generated/api";
import { Button } from "../../components/button.tsx";
import { CheckField } from "../../components/field.tsx";
import { ListControls, SearchField } from "../../components/list-controls.tsx";
import { Panel, ScreenHead } from "../../components/panel.tsx";
import { Empty, Loading } from "../../components/states.tsx";
import { FirstCall } from "./first-call.tsx";
import { type KeyView, KeyTable } from "./key-table.tsx";
import { NewKeyDialog } from "./new-key-dialog.tsx";
import { type MadeKey, SecretDialog } from "./secret-dialog.tsx";

/** API keys of the account. A key is made in this browser and leaves it only as a hash, so it is shown just once. */
export function KeysScreen() {
  const listed = useQuery(api.apiKeys.listOwn, {});
  const [isMaking, setIsMaking] = useState(false);
  const [made, setMade] = useState<MadeKey | null>(null);
  const [text, setText] = useState("");
  const [isAll, setIsAll] = useState(false);

  const fits = ({ name, prefix, revokedAtMs }: KeyView) =>
    (isAll || revokedAtMs === null) && `${name} ${prefix}`.toLowerCase().includes(text.toLowerCase());
  const shown = listed?.apiKeys.filter(fits);
  const make = (
    <Button look="primary" onClick={() => setIsMaking(true)}>
      <Plus aria-hidden className="size-4" />
      New key
    </Button>
  );
  return (
    <>
      <ScreenHead title="API keys" action={make}>
        A program sends its key as a bearer token. A key is shown once, when it is made; here only its hash is
        kept.
      </ScreenHead>
      <Panel id="keys" title="Your keys">
        <ListControls>
          <SearchField label="Search keys" placeholder="Name or beginning…" onSearch={setText} />
          <div className="flex h-9 items-center">
            <CheckField
              label="Also revoked ones"
              checked={isAll}
              onChange={(event) => setIsAll(event.target.checked)}
            />
          </div>
        </ListControls>
        {listed === undefined || shown === undefined ? (
          <Loading what="your keys" />
        ) : shown.length > 0 ? (
          <KeyTable keys={shown} onRotated={setMade} />
        ) : (
          <Empty
            icon={KeyRound}
            title={listed.apiKeys.length === 0 ? "No key yet" : "No key fits"}
            action={listed.apiKeys.length === 0 ? make : undefined}
          >
            {listed.apiKeys.length === 0
              ? "Make one for each program, so that one can be taken away without the others."
              : "Change the search, or show revoked keys as well."}
          </Empty>
        )}
      </Panel>
      <FirstCall />
      <NewKeyDialog isOpen={isMaking} onClose={() => setIsMaking(false)} onMade={setMade} />
      <SecretDialog made={made} onClose={() => setMade(null)} />
    </>
  );
}
