"use client";

import { LogOut } from "lucide-react";
import { buttonClass } from "./button.tsx";
import { signOut } from "./session-token.ts";

export const SIGN_OUT_HREF = "/api/auth/logout";

/** A plain link, so that it works before the page's script does. */
export function SignOut() {
  return (
    <a
      href={SIGN_OUT_HREF}
      aria-label="Sign out"
      title="Sign out"
      className={buttonClass("ghost", "sm")}
      onClick={(event) => {
        event.preventDefault();
        void signOut(SIGN_OUT_HREF);
      }}
    >
      <LogOut aria-hidden className="size-4" />
    </a>
  );
}
