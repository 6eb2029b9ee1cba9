/** The parts of the OpenAPI document that the reference shows. */

export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly default?: unknown;
}

interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required: boolean;
  readonly description?: string;
  readonly schema: Schema;
}

interface Answer {
  readonly $ref?: string;
  readonly description?: string;
  readonly content?: Readonly<Record<string, { readonly schema?: Schema }>>;
}

interface PathOperation {
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly tags: readonly string[];
  readonly security: readonly Readonly<Record<string, unknown>>[];
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> };
  readonly responses: Readonly<Record<string, Answer>>;
}

export interface ApiDocument {
  readonly info: { readonly description: string };
  readonly servers: readonly { readonly url: string }[];
  readonly tags: readonly { readonly name: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly responses: Readonly<Record<string, Answer>>;
  };
}

export interface Operation {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly summary: string;
  readonly description: string;
  /** Names of the security schemes, any of which will do. */
  readonly keys: readonly string[];
  readonly parameters: readonly Parameter[];
  readonly body: Schema | null;
  readonly answers: readonly {
    readonly status: string;
    readonly about: string;
    readonly schema: Schema | null;
  }[];
}

const METHODS = ["get", "post", "put", "patch", "delete"] as const;

/** Every operation, by tag, in the order of the document. */
export function operationsByTag(document: ApiDocument): { tag: string; operations: Operation[] }[] {
  const groups = document.tags.map(({ name }) => ({ tag: name, operations: [] as Operation[] }));
  for (const [path, item] of Object.entries(document.paths)) {
    const shared = (item["parameters"] ?? []) as readonly Parameter[];
    for (const method of METHODS) {
      const found = item[method] as PathOperation | undefined;
      if (found === undefined) continue;
      groups
        .find(({ tag }) => tag === found.tags[0])
        ?.operations.push({
          id: found.operationId,
          method: method.toUpperCase(),
          path,
          summary: found.summary,
          description: found.description ?? "",
          keys: found.security.flatMap((one) => Object.keys(one)),
          parameters: [...shared, ...(found.parameters ?? [])],
          body: found.requestBody?.content["application/json"]?.schema ?? null,
          answers: Object.entries(found.responses).map(([status, answer]) =>
            answerOf(document, status, answer),
          ),
        });
    }
  }
  return groups;
}

function answerOf(document: ApiDocument, status: string, answer: Answer): Operation["answers"][number] {
  const whole = answer.$ref === undefined ? answer : document.components.responses[nameOf(answer.$ref)];
  const schema = whole?.content?.["application/json"]?.schema ?? null;
  return { status, about: whole?.description ?? "", schema };
}

/** The last part of a reference: `Job` of `#/components/schemas/Job`. */
export function nameOf(reference: string): string {
  return reference.split("/").at(-1) ?? "";
}

/** What a value may be, in a few words. Named objects are told by their name. */
export function typeOf(schema: Schema): string {
  if (schema.$ref !== undefined) return nameOf(schema.$ref);
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return schema.enum.map((value) => JSON.stringify(value)).join(" | ");
  const any = schema.anyOf ?? schema.oneOf;
  if (any !== undefined) return [...new Set(any.map(typeOf))].join(" | ");
  if (schema.allOf !== undefined) return schema.allOf.map(typeOf).join(" & ");
  if (schema.type === "array") return `list of ${schema.items === undefined ? "any" : typeOf(schema.items)}`;
  return [schema.type ?? "any"].flat().join(" | ");
}

/** The bounds of a value, such as "1 to 200 characters". Limits of the number type itself are none. */
export function boundsOf({ minimum, maximum, minLength, maxLength, default: byDefault }: Schema): string {
  const parts = [range(minimum, maximum, ""), range(minLength, maxLength, " characters")];
  if (byDefault !== undefined) parts.push(`default ${JSON.stringify(byDefault)}`);
  return parts.filter((part) => part !== "").join(", ");
}

function range(from: number | undefined, to: number | undefined, unit: string): string {
  const most = to === undefined || to >= Number.MAX_SAFE_INTEGER ? undefined : to.toLocaleString("en-US");
  const least =
    from === undefined || from <= Number.MIN_SAFE_INTEGER ? undefined : from.toLocaleString("en-US");
  if (least === undefined && most === undefined) return "";
  if (most === undefined) return `at least ${least}${unit}`;
  return least === undefined ? `at most ${most}${unit}` : `${least} to ${most}${unit}`;
}
