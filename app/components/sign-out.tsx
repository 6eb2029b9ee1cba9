"use client";

import { signOut } from "./session-token.ts";

const HREF = "/api/auth/logout";

/** A plain link, so that it works before the page's script does. */
export function SignOut() {
  return (
    <a
      href={HREF}
      className="text-sm text-accent underline underline-offset-4"
      onClick={(event) => {
        event.preventDefault();
        void signOut(HREF);
      }}
    >
      Sign out
    </a>
  );
}
