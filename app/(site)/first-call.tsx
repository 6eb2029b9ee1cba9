import { Code, Commands } from "./text.tsx";

/** How to create an account, a key and a job with curl. The commands run as they stand in the project folder. */
export function FirstCall({ origin }: { origin: string }) {
  return (
    <section aria-labelledby="first-call" className="flex max-w-3xl flex-col gap-4">
      <h2 id="first-call" className="text-xl font-semibold tracking-tight">
        From a program
      </h2>
      <p className="text-muted">
        The operator key was made at the first start and lies in <Code>.holdfast/operator-key</Code>. With it,
        create an account with a limit of 100,000 units:
      </p>
      <Commands
        text={`curl -s ${origin}/api/v1/accounts \\
  -H "Authorization: Bearer $(cat .holdfast/operator-key)" \\
  -H "Content-Type: application/json" \\
  -d '{"name": "First account", "limitUnits": 100000}'`}
      />
      <p className="text-muted">
        Then a key for it; put the <Code>id</Code> of the answer in place of <Code>ACCOUNT_ID</Code>:
      </p>
      <Commands
        text={`curl -s ${origin}/api/v1/accounts/ACCOUNT_ID/keys \\
  -H "Authorization: Bearer $(cat .holdfast/operator-key)" \\
  -H "Content-Type: application/json" \\
  -d '{"name": "First key"}'`}
      />
      <p className="text-muted">
        And a job that holds 1,000 units, with the <Code>secret</Code> of that answer:
      </p>
      <Commands
        text={`curl -s ${origin}/api/v1/jobs \\
  -H "Authorization: Bearer SECRET" \\
  -H "Content-Type: application/json" \\
  -d '{"key": "my-first-job", "units": 1000}'`}
      />
      <p className="text-muted">
        Every route is described in{" "}
        {/* oxlint-disable-next-line nextjs/no-html-link-for-pages -- a document, not a page */}
        <a href="/api/v1/openapi.json" className="text-accent underline underline-offset-4">
          /api/v1/openapi.json
        </a>{" "}
        (OpenAPI 3.1).
      </p>
    </section>
  );
}
