import type { Metadata } from "next";
import { NEEDED_FEATURES } from "../../../../lib/doctor/billing.ts";
import { NEEDED_SCOPES } from "../../../../lib/doctor/machine.ts";
import { HANDLED_TYPES } from "../../../../lib/inbox/read-event.ts";
import { OPERATOR_PERMISSION } from "../../../../lib/kinde/permissions.ts";
import { Code, Commands, List, Part, Terms, Text } from "../../text.tsx";
import { DocsHead } from "../docs-head.tsx";

export const metadata: Metadata = { title: "Going live" };

const WEB_VARIABLES = [
  ["KINDE_ISSUER_URL", "the domain of the tenant: scheme and host alone, no slash at the end"],
  [
    "KINDE_CLIENT_ID, KINDE_CLIENT_SECRET",
    "of the web application; the secret has 40 to 60 letters and digits",
  ],
  ["KINDE_SITE_URL", "where people reach the app, such as https://app.example.com"],
  ["KINDE_M2M_CLIENT_ID, KINDE_M2M_CLIENT_SECRET", "of the machine-to-machine application"],
  ["KINDE_API_AUDIENCE", "only with a custom domain: https://<tenant>.kinde.com/api"],
  [
    "CONVEX_URL",
    "the deployment that npx convex deploy names; read when a request comes, so one build serves any",
  ],
  ["HOLDFAST_SERVER_SECRET", "64 hex digits; npm start makes one under .holdfast/server-secret"],
  [
    "HOLDFAST_TRUSTED_PROXIES",
    "how many proxies of yours stand in front; without it all clients behind one count as one when failures are held back",
  ],
] as const;

const CONVEX_VARIABLES = [
  ["HOLDFAST_SERVER_SECRETS", "the server secret; two with a comma between them while it changes"],
  ["HOLDFAST_OPERATOR_KEY_HASH", "hex SHA-256 of the operator key"],
  ["KINDE_ISSUER_URL", "as above"],
  ["KINDE_M2M_CLIENT_ID, KINDE_M2M_CLIENT_SECRET", "as above"],
  [
    "KINDE_SITE_URL",
    "as above, for the addresses of short links; HOLDFAST_SHORT_URL when they have their own",
  ],
  ["HOLDFAST_ALLOWANCES", "monthly credits of your plans, when they are not the built-in ones"],
  ["HOLDFAST_ALERT_URL, HOLDFAST_ALERT_SECRET", "where a person is told of reviews and dead letters"],
] as const;

export default function GoingLivePage() {
  return (
    <>
      <DocsHead title="Going live">
        A Kinde tenant instead of the stand-in, a Convex deployment instead of the local engine. Either may
        come first.
      </DocsHead>
      <Part id="kinde" title="1. The Kinde tenant">
        <List>
          <li>
            An API with the audience <Code>convex</Code>, authorized for the web application.
          </li>
          <li>
            A web application with the callback <Code>{"<site>/api/auth/kinde_callback"}</Code> and the
            sign-out redirect <Code>{"<site>"}</Code>.
          </li>
          <li>
            The permission <Code>{OPERATOR_PERMISSION}</Code> for operators, in the access token. It counts
            from a person&apos;s next token.
          </li>
          <li>
            A machine-to-machine application, authorized for the Kinde Management API, with these scopes:{" "}
            {NEEDED_SCOPES.map((scope, index) => (
              <span key={scope}>
                {index > 0 && ", "}
                <Code>{scope}</Code>
              </span>
            ))}
            . With <Code>read:webhooks</Code> as well, a webhook that is switched off raises an alarm, and the
            doctor can look at it.
          </li>
          <li>
            Plans with metered features whose keys are{" "}
            {NEEDED_FEATURES.map((key, index) => (
              <span key={key}>
                {index > 0 && " and "}
                <Code>{key}</Code>
              </span>
            ))}
            .
          </li>
        </List>
      </Part>
      <Part id="webhook" title="2. The webhook">
        <Text>
          An endpoint at <Code>{"<site>/api/webhooks/kinde"}</Code> for these events. Without it the hourly
          drift check is what notices a change of plan.
        </Text>
        <ul className="grid max-w-2xl gap-x-6 gap-y-1 font-mono text-sm sm:grid-cols-2">
          {HANDLED_TYPES.map((type) => (
            <li key={type}>{type}</li>
          ))}
        </ul>
      </Part>
      <Part id="convex" title="3. The Convex deployment">
        <Commands
          text={"npx convex deploy\nnpx convex env set KINDE_ISSUER_URL https://<tenant>.kinde.com"}
        />
        <Text>Variables of the deployment, each set the same way:</Text>
        <Terms terms={CONVEX_VARIABLES} />
      </Part>
      <Part id="web" title="4. The web server">
        <Text>
          Variables of the process. A missing or malformed one ends the start with one line that names it;{" "}
          <Code>.env.example</Code> says more about each.
        </Text>
        <Terms terms={WEB_VARIABLES} />
      </Part>
      <Part id="doctor" title="5. The doctor">
        <Text>
          It asks each part in the order in which one needs the other, and says what is wrong and where it is
          changed: a secret of the wrong form, another issuer, a missing audience or scope, a host that cannot
          be reached, a webhook that is switched off, plans without the features.
        </Text>
        <Commands text={"npm run doctor\nnpm run doctor -- --env-file .env.production --json"} />
      </Part>
      <Part id="size" title="What a screen weighs">
        <Text>
          Every customer screen needs less than 250 KB of JavaScript, compressed; a browser test measures each
          and fails above. The largest are the jobs screen and a link with its chart, at about 235 KB.
        </Text>
      </Part>
    </>
  );
}
