/** The lossy `format: "json"` of the HTTP API: int64 as a decimal string, bytes as base64, floats as numbers. */
import { float64Of, int64Of, typeOf, type JsonObject, type JsonValue } from "./values/json.ts";

export function toCleanJson(value: JsonValue): unknown {
  switch (typeOf(value)) {
    case "int64":
      return int64Of(value as JsonObject).toString();
    case "bytes":
      return (value as JsonObject)["$bytes"];
    case "float64": {
      const number = float64Of(value as number | JsonObject);
      return Number.isFinite(number) ? number : String(number);
    }
    case "array":
      return (value as JsonValue[]).map(toCleanJson);
    case "object":
      return Object.fromEntries(
        Object.entries(value as JsonObject).map(([field, member]) => [field, toCleanJson(member)]),
      );
    default:
      return value;
  }
}
