/** Signing in and out in the browser. No session is kept here: every sign-in shows the page. */
import { redirect, type Answer } from "./answers.ts";
import { callbackUrl, isAllowedRedirect, readAuthRequest, type AuthRequest } from "./auth-request.ts";
import { startAgreement } from "./billing.ts";
import { findPlan } from "./catalogue.ts";
import { recordChange } from "./changes.ts";
import type { Call, Emulator, Route } from "./context.ts";
import { html, page, pageRefusal } from "./html.ts";
import { issueCode } from "./sessions.ts";
import { signInPage } from "./sign-in-page.ts";
import { createUser, findUser, newUser, offeredUsers, type User } from "./users.ts";

export const authorizeRoutes: readonly Route[] = [
  { method: "GET", path: "/oauth2/auth", handler: showSignIn },
  { method: "POST", path: "/oauth2/auth", handler: signIn },
  { method: "GET", path: "/logout", handler: signOut },
];

const FIELD_NAMES: Record<string, string> = {
  givenName: "Given name",
  familyName: "Family name",
  email: "Email",
};

function showSignIn(emulator: Emulator, call: Call): Answer {
  return offer(emulator, call, readAuthRequest(emulator, call.query), null);
}

function signIn(emulator: Emulator, call: Call): Answer {
  const request = readAuthRequest(emulator, call.query);
  refuseForeignForm(emulator, call);
  const form = new URLSearchParams(call.body);
  const userId = form.get("user");
  if (userId !== null) {
    const user = findUser(emulator, userId);
    if (user === null) throw pageRefusal(400, "Sign-in failed", "This test user no longer exists.");
    return goOn(emulator, request, user);
  }
  const fields = newUser.safeParse({
    givenName: form.get("given_name") ?? "",
    familyName: form.get("family_name") ?? "",
    email: form.get("email") ?? "",
    operator: form.get("operator") !== null,
  });
  if (!fields.success) {
    const issue = fields.error.issues[0]!;
    return offer(emulator, call, request, `${FIELD_NAMES[String(issue.path[0])]} ${issue.message}.`);
  }
  const created = createUser(emulator, fields.data);
  if (created.kind === "email_taken") {
    return offer(
      emulator,
      call,
      request,
      "A test user with this email exists already. Pick it from the list.",
    );
  }
  startAgreement(emulator, created.user.customerId, signUpPlan(emulator, request));
  return goOn(emulator, request, created.user);
}

/** A page of another site could fill in the form. It would get no code, but it would leave users behind. */
export function refuseForeignForm({ issuer }: Emulator, { headers }: Call): void {
  const { origin } = headers;
  if (origin !== undefined && origin !== issuer) {
    throw pageRefusal(403, "Refused", "This form was sent by a page of another site.");
  }
}

function signUpPlan({ catalogue }: Emulator, { planInterest }: AuthRequest): string {
  const wanted = planInterest === null ? null : findPlan(catalogue, planInterest);
  return wanted?.key ?? catalogue.signUpPlan;
}

function goOn(emulator: Emulator, request: AuthRequest, user: User): Answer {
  recordChange(emulator, { kind: "user_signed_in", userId: user.id });
  return redirect(callbackUrl(request, issueCode(emulator, request, user)));
}

function offer(emulator: Emulator, call: Call, request: AuthRequest, error: string | null): Answer {
  const form = new URLSearchParams(call.body);
  return signInPage({
    status: error === null ? 200 : 400,
    users: offeredUsers(emulator),
    action: `/oauth2/auth?${call.query.toString()}`,
    siteOrigin: emulator.config.siteOrigin,
    registrationFirst: request.startsWithRegistration || error !== null,
    draft: {
      givenName: form.get("given_name") ?? "",
      familyName: form.get("family_name") ?? "",
      email: form.get("email") ?? request.loginHint,
    },
    error,
  });
}

function signOut({ config }: Emulator, { query }: Call): Answer {
  const target = query.get("redirect") ?? "";
  if (target === "") {
    const main = html`<h1>Signed out</h1>
      <p><a href="${config.siteOrigin}">Back to the app</a></p>`;
    return page(200, { title: "Kinde emulator: signed out", main });
  }
  if (!isAllowedRedirect(target, config.siteOrigin)) {
    throw pageRefusal(400, "This sign-out link does not work", `redirect must lead to ${config.siteOrigin}.`);
  }
  return redirect(new URL(target).href);
}
