import type { Metadata } from "next";
import { openApiDocument } from "../../../../lib/server/api/router.ts";
import { linkClass } from "../../../components/button.tsx";
import { Code, Commands, Text } from "../../text.tsx";
import { DocsHead } from "../docs-head.tsx";
import { type ApiDocument, operationsByTag } from "./api-document.ts";
import { OperationPart } from "./operation-part.tsx";
import { SchemaFields } from "./schema-fields.tsx";

export const metadata: Metadata = { title: "API reference" };

/** Rendered from the document that the server itself answers with, so that neither can say what the other does not. */
export default function ApiPage() {
  const document = openApiDocument() as unknown as ApiDocument;
  const base = document.servers[0]?.url ?? "";
  const groups = operationsByTag(document);
  return (
    <>
      <DocsHead title="API reference">{document.info.description}</DocsHead>
      <div className="flex flex-col gap-4">
        <Text>
          All paths are below <Code>{base}</Code>. As a document for programs:{" "}
          {/* oxlint-disable-next-line nextjs/no-html-link-for-pages -- a document, not a page */}
          <a href={`${base}/openapi.json`} className={linkClass}>
            openapi.json
          </a>{" "}
          (OpenAPI 3.1). A list answers a page and a <Code>cursor</Code>; null is the last one.
        </Text>
        <Commands text={`curl -s http://localhost:3000${base}/usage -H "authorization: Bearer KEY"`} />
      </div>
      <nav aria-label="Operations" className="grid gap-x-8 gap-y-6 sm:grid-cols-2">
        {groups.map(({ tag, operations }) => (
          <div key={tag}>
            <h2 className="mb-2 text-sm font-semibold">{tag}</h2>
            <ul className="flex flex-col gap-1 text-sm">
              {operations.map(({ id, summary }) => (
                <li key={id}>
                  <a href={`#${id}`} className="text-muted hover:text-ink hover:underline">
                    {summary}
                  </a>
                </li>
              ))}
            </ul>
          </div>
        ))}
      </nav>
      {groups.map(({ tag, operations }) => (
        <section key={tag} aria-label={tag} className="flex flex-col gap-6">
          <h2 className="border-b border-line pb-2 text-xl font-semibold tracking-tight">{tag}</h2>
          {operations.map((operation) => (
            <OperationPart key={operation.id} operation={operation} base={base} />
          ))}
        </section>
      ))}
      <section aria-label="Objects" className="flex flex-col gap-6">
        <h2 className="border-b border-line pb-2 text-xl font-semibold tracking-tight">Objects</h2>
        {Object.entries(document.components.schemas).map(([name, schema]) => (
          <article key={name} id={name} className="flex scroll-mt-6 flex-col gap-3">
            <h3 className="font-mono font-medium">{name}</h3>
            <SchemaFields schema={schema} />
          </article>
        ))}
      </section>
    </>
  );
}
