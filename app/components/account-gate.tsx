"use client";

import { useAction, useConvexAuth, useQuery } from "convex/react";
import { type ReactNode, useEffect, useRef, useState } from "react";
import { api } from "../../convex/_generated/api";
import { Button, buttonClass } from "./button.tsx";
import { Notice } from "./notice.tsx";
import { Loading } from "./states.tsx";

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

  if (!isLoading && !isAuthenticated) return <SessionOver home={home} />;
  if (me) return children;
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

function SessionOver({ home }: { home: string }) {
  return (
    <div role="alert" className="flex flex-col items-start gap-3">
      <h1 className="text-xl font-semibold">Your session has ended</h1>
      <p className="text-muted">Sign in again to go on where you were.</p>
      <a href={`/api/auth/login?post_login_redirect_url=${home}`} className={buttonClass("primary")}>
        Sign in
      </a>
    </div>
  );
}
