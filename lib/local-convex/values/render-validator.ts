import { renderLiteral } from "./render.ts";
import type { FieldJson, ValidatorJson } from "./validator.ts";

/** A validator as its source would be written: `v.object({units: v.optional(v.float64())})`. */
export function renderValidator(json: ValidatorJson): string {
  switch (json.type) {
    case "number":
      return "v.float64()";
    case "bigint":
      return "v.int64()";
    case "null":
    case "boolean":
    case "string":
    case "bytes":
    case "any":
    case "commitTs":
      return `v.${json.type}()`;
    case "id":
      return `v.id("${json.tableName}")`;
    case "literal":
      return `v.literal(${renderLiteral(json.value)})`;
    case "array":
      return `v.array(${renderValidator(json.value)})`;
    case "union":
      return `v.union(${json.value.map(renderValidator).join(", ")})`;
    case "record":
      return `v.record(${renderValidator(json.keys)}, ${renderField(json.values)})`;
    case "object": {
      const fields = Object.keys(json.value).toSorted();
      return `v.object({${fields.map((field) => `${field}: ${renderField(json.value[field]!)}`).join(", ")}})`;
    }
    default:
      throw unknownValidator(json);
  }
}

function renderField(field: FieldJson): string {
  const text = renderValidator(field.fieldType);
  return field.optional ? `v.optional(${text})` : text;
}

/** A validator of a type this engine does not know, as a newer package could send it. */
export function unknownValidator(json: never): Error {
  return new Error(`Unknown validator ${JSON.stringify(json)}`);
}
