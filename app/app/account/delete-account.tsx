"use client";

import { useAction, useMutation } from "convex/react";
import { Trash2 } from "lucide-react";
import { type ReactNode, useState } from "react";
import { api } from "../../../convex/_generated/api";
import { countRunning } from "../../../lib/gate/running.ts";
import { isConfirmed } from "../../../lib/inbox/deletion.ts";
import { Button, ButtonLink, buttonClass } from "../../components/button.tsx";
import { ConfirmDialog } from "../../components/dialog.tsx";
import { TextField } from "../../components/field.tsx";
import { Notice } from "../../components/notice.tsx";
import { Panel } from "../../components/panel.tsx";
import { signOut } from "../../components/session-token.ts";
import { SIGN_OUT_HREF } from "../../components/sign-out.tsx";
import { Instant, Until } from "../../components/time.tsx";
import { toast } from "../../components/toast.tsx";
import { DELETED_COOKIE } from "../../components/deleted-cookie.ts";
import { planName } from "../plan/plans.ts";
import type { Standing } from "./account-screen.tsx";

type Obstacle = Standing["obstacles"][number];

/** What deleting does and does not do, what has to be done first, and the act itself. */
export function DeleteAccount({ standing }: { standing: Standing }) {
  const { obstacles, overdueSinceMs } = standing;
  const [isAsking, setIsAsking] = useState(false);
  return (
    <Panel
      id="delete"
      title="Delete the account"
      about="For good: it cannot be undone, and the same sign-in cannot open another account."
      aside={
        <Button look="danger" disabled={obstacles.length > 0} onClick={() => setIsAsking(true)}>
          <Trash2 aria-hidden className="size-4" />
          Delete my account
        </Button>
      }
    >
      {obstacles.map((obstacle) => (
        <ObstacleNotice key={obstacle.code} obstacle={obstacle} />
      ))}
      {overdueSinceMs !== null && (
        <Notice tone="warn" title="An invoice is overdue">
          Since <Instant ms={overdueSinceMs} />. It stays owed to the billing provider; deleting does not
          settle it.
        </Notice>
      )}
      <div className="grid gap-6 text-sm md:grid-cols-3">
        <Points title="Ends at once">
          <li>API keys: programs get 401</li>
          <li>Short links: people get a page that says they are gone, within 5 seconds</li>
          <li>Reminders that are still to come</li>
          <li>Every session: no screen opens any more</li>
        </Points>
        <Points title="Is erased">
          <li>Your name and email address in the account</li>
          <li>The text of your reminders</li>
          <li>The titles of your links</li>
        </Points>
        <Points title="Stays, for the books">
          <li>The ledger: what was counted, and why; it is still billed</li>
          <li>Jobs and credits behind it, with the keys and kinds that programs gave to jobs</li>
          <li>Names, first characters and rights of API keys, without the secrets</li>
          <li>Codes and targets of links, and their clicks by the hour</li>
          <li>When reminders were due, without their text</li>
          <li>Billing events as they were signed, which may name you and your email address</li>
          <li>Your ids at the provider, and what operators did for the account</li>
        </Points>
      </div>
      <p className="text-sm text-muted">
        Your sign-in and your billing agreement belong to the provider. Nothing here ends them: choose the
        free plan there first, and remove the sign-in there if you want it gone as well.
      </p>
      <DeleteDialog standing={standing} isOpen={isAsking} onClose={() => setIsAsking(false)} />
    </Panel>
  );
}

function Points({ title, children }: { title: string; children: ReactNode }) {
  return (
    <div className="flex flex-col gap-2">
      <h3 className="font-medium">{title}</h3>
      <ul className="flex list-disc flex-col gap-1.5 pl-4 text-muted marker:text-edge">{children}</ul>
    </div>
  );
}

function ObstacleNotice({ obstacle }: { obstacle: Obstacle }) {
  if (obstacle.code === "paid_plan") {
    return (
      <Notice
        tone="warn"
        title={`First end the plan ${planName(obstacle.planKey)}`}
        next={
          <div className="flex flex-col items-start gap-2">
            <span>Choose the free plan on the provider&apos;s page, then come back here.</span>
            <a href="/app/plan/change" className={buttonClass("secondary", "sm")}>
              Change plan
            </a>
          </div>
        }
      >
        The agreement is between you and the billing provider. Deleting here would not end it, and you would
        go on paying.
      </Notice>
    );
  }
  const { count, lastLeaseExpiresAtMs } = obstacle;
  return (
    <Notice
      tone="warn"
      title={count === 1 ? "First end the running job" : `First end the ${countRunning(count)} running jobs`}
      next={
        <div className="flex flex-col items-start gap-2">
          <span>
            Cancel {count === 1 ? "it" : "them"}, or wait: without a sign of life the last one ends{" "}
            <Until ms={lastLeaseExpiresAtMs} over="about now" />.
          </span>
          <ButtonLink href="/app/jobs" size="sm">
            Jobs
          </ButtonLink>
        </div>
      }
    >
      {count === 1 ? "It holds" : "They hold"} tokens, and what {count === 1 ? "it uses" : "they use"} has to
      be booked.
    </Notice>
  );
}

function DeleteDialog(props: { standing: Standing; isOpen: boolean; onClose: () => void }) {
  const { isOpen, onClose, standing } = props;
  const refreshLimit = useAction(api.limits.refreshNow);
  const remove = useMutation(api.accountDeletion.remove);
  const [typed, setTyped] = useState("");
  const wanted = standing.email ?? standing.name;

  async function onConfirm() {
    // The provider is asked once more which plan it has; when it does not answer, what is stored decides.
    await refreshLimit({}).catch(() => undefined);
    const answer = await remove({ typed });
    switch (answer.kind) {
      case "deleted":
        // The start page, where the sign-out leads, says that it is done.
        document.cookie = `${DELETED_COOKIE}=1; Path=/; Max-Age=60; SameSite=Lax`;
        await signOut(SIGN_OUT_HREF);
        return;
      case "refused":
        toast.failed("Not deleted", "Something has to be ended first; the screen says what.");
        return;
      case "not_confirmed":
        toast.failed("Not deleted", `What was typed is not ${wanted}.`);
    }
  }

  return (
    <ConfirmDialog
      isOpen={isOpen}
      onClose={() => {
        onClose();
        setTyped("");
      }}
      title="Delete this account for good?"
      confirm="Delete for good"
      isReady={isConfirmed(standing, typed)}
      act={onConfirm}
      fields={
        <TextField
          label={`Type ${wanted} to confirm`}
          autoComplete="off"
          spellCheck={false}
          value={typed}
          onChange={(event) => setTyped(event.target.value)}
        />
      }
    >
      <p>
        Keys, links and reminders end at once, and your name, email address, reminder texts and link titles
        are erased. The ledger stays for the books, and so do the names of API keys, the keys of jobs, the
        targets of links and the billing events as they were signed.
      </p>
      <p>
        You are signed out, and this sign-in cannot open an account here again. To come back you need a new
        sign-in, with another email address.
      </p>
    </ConfirmDialog>
  );
}
