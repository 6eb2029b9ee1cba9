import { boundsOf, nameOf, type Schema, typeOf } from "./api-document.ts";

/** The fields of an object, those of objects within it indented below theirs. */
export function SchemaFields({ schema }: { schema: Schema }) {
  if (schema.$ref !== undefined) return <SchemaLink schema={schema} />;
  const { properties, required = [] } = schema;
  if (properties === undefined) {
    const choices = (schema.oneOf ?? schema.anyOf ?? []).filter((one) => one.properties !== undefined);
    if (choices.length === 0) return <SchemaLink schema={schema} />;
    return (
      <div className="flex flex-col gap-4">
        {choices.map((one, index) => (
          // oxlint-disable-next-line react/no-array-index-key -- the document's order is what names a choice
          <div key={index} className="flex flex-col gap-2">
            <p className="text-sm text-muted">{index === 0 ? "One of:" : "or:"}</p>
            <SchemaFields schema={one} />
          </div>
        ))}
      </div>
    );
  }
  return (
    <ul className="flex flex-col divide-y divide-line rounded-lg border border-line bg-card text-sm">
      {Object.entries(properties).map(([name, field]) => (
        <li key={name} className="flex flex-col gap-1 px-3 py-2">
          <p className="flex flex-wrap items-baseline gap-x-3 gap-y-0.5">
            <code className="font-mono break-all">{name}</code>
            <SchemaLink schema={field} />
            {!required.includes(name) && <span className="text-xs text-muted">may be left out</span>}
          </p>
          {(field.description !== undefined || boundsOf(field) !== "") && (
            <p className="text-muted">
              {[field.description, boundsOf(field)]
                .filter((part) => part !== undefined && part !== "")
                .join(" · ")}
            </p>
          )}
          {nested(field) !== null && <SchemaFields schema={nested(field)!} />}
        </li>
      ))}
    </ul>
  );
}

/** The object within a field: itself, or what a list is of. */
function nested(field: Schema): Schema | null {
  if (field.properties !== undefined) return field;
  return field.items?.properties === undefined ? null : field.items;
}

function SchemaLink({ schema }: { schema: Schema }) {
  const reference = schema.$ref ?? schema.items?.$ref ?? schema.anyOf?.find(({ $ref }) => $ref)?.$ref;
  const text = typeOf(schema);
  if (reference === undefined) return <span className="text-xs break-words text-muted">{text}</span>;
  return (
    <a href={`#${nameOf(reference)}`} className="text-xs text-accent hover:underline">
      {text}
    </a>
  );
}
