import type { Answer } from "./answers.ts";
import { html, NOTHING, page, type Html } from "./html.ts";
import { OPERATOR_PERMISSION, type User } from "./users.ts";

export interface SignInPage {
  readonly status: number;
  readonly users: readonly User[];
  /** The query of the request: the form posts it back, so the emulator keeps nothing in between. */
  readonly action: string;
  readonly siteOrigin: string;
  readonly registrationFirst: boolean;
  /** What was typed before, with the reason why it was not taken. */
  readonly draft: { readonly givenName: string; readonly familyName: string; readonly email: string };
  readonly error: string | null;
}

export function signInPage(view: SignInPage): Answer {
  const picker = view.users.length === 0 ? NOTHING : userPicker(view);
  const form = newUserForm(view);
  const main = html`<h1>${view.registrationFirst ? "Sign up" : "Sign in"}</h1>
    <p class="note">Test users only. There are no passwords here.</p>
    ${view.registrationFirst ? [form, picker] : [picker, form]}`;
  return page(view.status, { title: "Kinde emulator: sign in", main, formTargets: view.siteOrigin });
}

function userPicker({ users, action }: SignInPage): Html {
  return html`<h2 id="pick">Continue as</h2>
    <form method="post" action="${action}" aria-labelledby="pick">
      <ul>
        ${users.map(
          (user) =>
            html`<li>
              <button class="row" name="user" value="${user.id}">
                <strong>${user.givenName} ${user.familyName}</strong>${
                  user.permissions.includes(OPERATOR_PERMISSION) ? " (operator)" : ""
                }<br />${user.email}
              </button>
            </li>`,
        )}
      </ul>
    </form>`;
}

function newUserForm({ action, draft, error }: SignInPage): Html {
  return html`<h2 id="new">New test user</h2>
    ${error === null ? NOTHING : html`<p class="error" role="alert">${error}</p>`}
    <form method="post" action="${action}" aria-labelledby="new">
      <input type="hidden" name="new" value="1" />
      <label for="given_name">Given name</label>
      <input
        type="text"
        id="given_name"
        name="given_name"
        value="${draft.givenName}"
        required
        maxlength="100"
        autocomplete="off"
      />
      <label for="family_name">Family name</label>
      <input
        type="text"
        id="family_name"
        name="family_name"
        value="${draft.familyName}"
        required
        maxlength="100"
        autocomplete="off"
      />
      <label for="email">Email</label>
      <input
        type="email"
        id="email"
        name="email"
        value="${draft.email}"
        required
        maxlength="254"
        autocomplete="off"
      />
      <label class="check"
        ><input type="checkbox" name="operator" value="1" /> operator (gets the permission
        ${OPERATOR_PERMISSION})</label
      >
      <p class="actions"><button>Create and continue</button></p>
    </form>`;
}
