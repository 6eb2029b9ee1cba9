import type { Metadata } from "next";
import type { ReactNode } from "react";
import { openApiDocument } from "../../../../lib/server/api/router.ts";
import { linkClass } from "../../../components/button.tsx";
import { Code, Commands, Text } from "../../text.tsx";
import { siteOrigin } from "../../origin.ts";
import { DocsHead } from "../docs-head.tsx";
import { type ApiDocument, operationsByTag } from "./api-document.ts";
import { OperationPart } from "./operation-part.tsx";
import { Fold } from "./fold.tsx";
import { SchemaFields } from "./schema-fields.tsx";

export const metadata: Metadata = { title: "API reference" };

const OBJECTS = "Objects";

/** Rendered from the document that the server itself answers with, so that neither can say what the other does not. */
export default async function ApiPage() {
  const origin = await siteOrigin();
  const document = openApiDocument() as unknown as ApiDocument;
  const base = document.servers[0]?.url ?? "";
  const groups = operationsByTag(document);
  const objects = Object.entries(document.components.schemas);
  const objectsLine = [OBJECTS, objects.length] as const;
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
        <Commands text={`curl -s ${origin}${base}/usage -H "authorization: Bearer KEY"`} />
      </div>
      <nav aria-label="Contents">
        <ul className="flex flex-wrap gap-x-5 gap-y-2 text-sm">
          {[...groups.map(({ tag, operations }) => [tag, operations.length] as const), objectsLine].map(
            ([name, count]) => (
              <li key={name}>
                <a href={`#${groupId(name)}`} className={linkClass}>
                  {name}
                </a>{" "}
                <span className="text-muted tabular-nums">{count}</span>
              </li>
            ),
          )}
        </ul>
      </nav>
      {groups.map(({ tag, operations }) => (
        <Group key={tag} name={tag}>
          {operations.map((operation) => (
            <OperationPart
              key={operation.id}
              operation={operation}
              base={base}
              callUrl={`${origin}${base}`}
            />
          ))}
        </Group>
      ))}
      <Group name={OBJECTS}>
        {objects.map(([name, schema]) => (
          <Fold key={name} id={name} head={<h3 className="font-mono text-sm font-medium">{name}</h3>}>
            <SchemaFields schema={schema} />
          </Fold>
        ))}
      </Group>
    </>
  );
}

const groupId = (name: string): string => `group-${name.toLowerCase().replaceAll(/[^a-z]+/g, "-")}`;

function Group({ name, children }: { name: string; children: ReactNode }) {
  const id = groupId(name);
  return (
    <section aria-labelledby={id} className="flex flex-col gap-3">
      <h2 id={id} className="scroll-mt-6 text-xl font-semibold tracking-tight">
        {name}
      </h2>
      <div className="flex flex-col divide-y divide-line rounded-xl border border-line">{children}</div>
    </section>
  );
}
