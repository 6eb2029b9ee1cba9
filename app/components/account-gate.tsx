"use client";

import { useAction, useConvexAuth, useQuery } from "convex/react";
import { usePathname } from "next/navigation";
import { type ReactNode, useEffect, useRef, useState } from "react";
import { api } from "../../convex/_generated/api";
import { Button, buttonClass } from "./button.tsx";
import { Notice } from "./notice.tsx";
import { SIGN_OUT_HREF } from "./sign-out.tsx";
import { signOut } from "./session-token.ts";
import { Loading } from "./states.tsx";
import { Instant } from "./time.tsx";

/** Shows the screens of an account once there is one: the first sign-in makes it, in whichever tab is first. */
export function AccountGate({ home, children }: { home: "/app" | "/ops"; children: ReactNode }) {
  const { isLoading, isAuthenticated } = useConvexAuth();
  const me = useQuery(api.signIn.me, isAuthenticated ? {} : "skip");
  const enter = useAction(api.signIn.enter);
  const [hasFailed, setHasFailed] = useState(false);
  const isEntering = useRef(false);
  const isMissing = me === null;

  useEffect(() => {
    if (!isMissing || hasFailed || isEntering.current) return;
    isEntering.current = true;
    enter({})
      .catch(() => setHasFailed(true))
      .finally(() => {
        isEntering.current = false;
      });
  }, [isMissing, hasFailed, enter]);

  if (!isLoading && !isAuthenticated) return <SessionOver />;
  // Operators work for others: their own account has nothing to do with it.
  if (me && (me.deletedAtMs === null || home === "/ops")) return children;
  if (me) return <AccountDeleted deletedAtMs={me.deletedAtMs ?? 0} />;
  if (isMissing && hasFailed) {
    return (
      <Notice
        isNews
        tone="bad"
        title="Your account could not be set up"
        next={<Button onClick={() => setHasFailed(false)}>Try again</Button>}
      >
        Nothing is lost.
      </Notice>
    );
  }
  return <Loading what={isMissing ? "your new account" : "your account"} rows={6} />;
}

/** For whoever comes back: the same sign-in never opens a deleted account again. */
function AccountDeleted({ deletedAtMs }: { deletedAtMs: number }) {
  return (
    <div role="alert" className="flex max-w-xl flex-col items-start gap-3">
      <h1 className="text-2xl font-semibold tracking-tight">This account is deleted</h1>
      <p className="text-muted">
        It was deleted on <Instant ms={deletedAtMs} />, and that cannot be undone: its keys are revoked, its
        links are off, and this sign-in opens neither it nor another one. The ledger is kept for the books.
      </p>
      <p className="text-muted">
        To come back you need a new sign-in: sign out, and sign up with another email address.
      </p>
      <Button look="primary" onClick={() => void signOut(SIGN_OUT_HREF)}>
        Sign out
      </Button>
    </div>
  );
}

function SessionOver() {
  const path = encodeURIComponent(usePathname());
  return (
    <div role="alert" className="flex flex-col items-start gap-3">
      <h1 className="text-xl font-semibold">Your session has ended</h1>
      <p className="text-muted">Sign in again to go on where you were.</p>
      <a href={`/api/auth/login?post_login_redirect_url=${path}`} className={buttonClass("primary")}>
        Sign in
      </a>
    </div>
  );
}
