import {
  type JsonObject,
  type JsonValue,
  type ValueType,
  encodedText,
  float64Of,
  int64Of,
  typeOf,
} from "./json.ts";

/* Values as Convex's error texts write them: `{done: false, units: 5.0}`. */

const TYPE_NAMES: Record<ValueType, string> = {
  undefined: "Undefined",
  null: "Null",
  int64: "Int64",
  float64: "Float64",
  boolean: "Boolean",
  string: "String",
  bytes: "Bytes",
  array: "Array",
  object: "Object",
};

/** "Float64" and the like, for "Cannot add X (type Float64) ...". */
export function typeName(value: JsonValue | undefined): string {
  return TYPE_NAMES[typeOf(value)];
}

/** One line of text for a value; a whole float keeps its ".0", so that it is not mistaken for an int64. */
export function renderValue(value: JsonValue | undefined): string {
  if (typeof value === "string") return renderString(value);
  if (Array.isArray(value)) return `[${value.map(renderValue).join(", ")}]`;
  if (typeof value !== "object" || value === null) {
    return typeof value === "number" ? renderFloat(value, 1e-4) : String(value);
  }
  switch (typeOf(value)) {
    case "int64":
      return String(int64Of(value));
    case "float64":
      return renderFloat(float64Of(value), 1e-4);
    case "bytes":
      return `b${renderString(encodedText(value, "$bytes"))}`;
    default:
      return renderObject(value);
  }
}

/** A literal inside `v.literal(...)`. Int64 and special floats have no JSON spelling and get a placeholder. */
export function renderLiteral(value: JsonValue): string {
  switch (typeOf(value)) {
    case "int64":
      return "<bigint>";
    case "float64":
      return typeof value === "number" ? renderFloat(value, 1e-5) : "<number>";
    default:
      return JSON.stringify(value);
  }
}

function renderObject(object: JsonObject): string {
  const fields = Object.keys(object)
    .toSorted()
    .map((field) => `${field}: ${renderValue(object[field])}`);
  return `{${fields.join(", ")}}`;
}

/** `smallest` is the magnitude below which the exponent form starts; it ends at 1e16 in every case. */
function renderFloat(value: number, smallest: number): string {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
  if (Object.is(value, -0)) return "-0.0";
  const magnitude = Math.abs(value);
  if (magnitude >= 1e16 || (magnitude > 0 && magnitude < smallest)) {
    return value.toExponential().replace("e+", "e");
  }
  return Number.isInteger(value) ? `${value}.0` : String(value);
}

const SHORT_ESCAPES: Record<string, string> = {
  '"': '\\"',
  "\\": "\\\\",
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
  "\0": "\\0",
};

function renderString(text: string): string {
  let out = '"';
  for (const char of text) {
    const code = char.codePointAt(0) ?? 0;
    const short = SHORT_ESCAPES[char];
    if (short !== undefined) out += short;
    else if (code < 32 || code === 127) out += `\\u{${code.toString(16)}}`;
    else out += char;
  }
  return `${out}"`;
}
