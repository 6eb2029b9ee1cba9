import { decodeId } from "./doc-id.ts";
import { type JsonObject, type JsonValue, typeOf } from "./json.ts";
import { encodeKeyPart } from "./order-key.ts";
import { renderValidator, unknownValidator } from "./render-validator.ts";
import { renderValue } from "./render.ts";

/** A validator as `exportArgs`, `exportReturns` and a schema's `documentType` write it. */
export type ValidatorJson =
  | { type: "null" | "number" | "bigint" | "boolean" | "string" | "bytes" | "any" | "commitTs" }
  | { type: "id"; tableName: string }
  | { type: "literal"; value: JsonValue }
  | { type: "array"; value: ValidatorJson }
  | { type: "object"; value: Record<string, FieldJson> }
  | { type: "union"; value: ValidatorJson[] }
  | { type: "record"; keys: ValidatorJson; values: FieldJson };

export interface FieldJson {
  fieldType: ValidatorJson;
  optional: boolean;
}

/** Why a value was refused, in Convex's words. The caller puts "ArgumentValidationError: " or the like before it. */
export interface ValidationFailure {
  message: string;
}

/** The name of the table with this number, or null when there is none. */
export type ResolveTable = (tableNumber: number) => string | null;

/** Checks a value; null means it is accepted. `undefined` is a value that is not there at all. */
export type ValueCheck = (
  value: JsonValue | undefined,
  resolveTable: ResolveTable,
) => ValidationFailure | null;

/** Checks a document. `_id` and `_creationTime` are neither required nor refused. */
export type DocumentCheck = (document: JsonObject, resolveTable: ResolveTable) => ValidationFailure | null;

/**
 * Each validator is compiled twice: `accepts` runs for every value and builds nothing; `explain` runs only on a
 * refused value, and finds the failure Convex would report, with its path.
 */
interface Compiled {
  accepts(value: JsonValue | undefined, resolveTable: ResolveTable): boolean;
  /** The failure's text, or null when the value is accepted. */
  explain(value: JsonValue | undefined, resolveTable: ResolveTable, path: string): string | null;
  text: string;
}

const MISMATCH = "Value does not match validator.";

/** Compiles a validator. Throws Error on a validator of an unknown type, as a newer package could send it. */
export function compileValidator(json: ValidatorJson): ValueCheck {
  const compiled = compile(json);
  return (value, resolveTable) => {
    if (compiled.accepts(value, resolveTable)) return null;
    return { message: compiled.explain(value, resolveTable, "") ?? MISMATCH };
  };
}

/**
 * Compiles the `documentType` of a table, for documents with or without their system fields. System fields in
 * the validator itself are left out as well.
 */
export function compileDocumentValidator(json: ValidatorJson): DocumentCheck {
  const compiled = compile(withoutSystemFields(json), true);
  return (document, resolveTable) => {
    if (compiled.accepts(document, resolveTable)) return null;
    const user = Object.fromEntries(Object.entries(document).filter(([field]) => !isSystemField(field)));
    return { message: compiled.explain(user, resolveTable, "") ?? MISMATCH };
  };
}

/** With `isDocument`, system fields at the top do not count as extra ones. */
function compile(json: ValidatorJson, isDocument = false): Compiled {
  switch (json.type) {
    case "null":
      return leaf(json, (value) => value === null);
    case "boolean":
      return leaf(json, (value) => typeof value === "boolean");
    case "string":
      return leaf(json, (value) => typeof value === "string");
    case "any":
      return leaf(json, () => true);
    case "number":
      return leaf(json, (value) => typeof value === "number" || typeOf(value) === "float64");
    case "bigint":
    case "commitTs":
      return leaf(json, (value) => typeOf(value) === "int64");
    case "bytes":
      return leaf(json, (value) => typeOf(value) === "bytes");
    case "id":
      return compileId(json.tableName, renderValidator(json));
    case "literal":
      return compileLiteral(json.value, renderValidator(json));
    case "array":
      return compileArray(json.value, renderValidator(json));
    case "object":
      return compileObject(json.value, renderValidator(json), isDocument);
    case "record":
      return compileRecord(json.keys, json.values.fieldType, renderValidator(json));
    case "union":
      return compileUnion(json.value, renderValidator(json), isDocument);
    default:
      throw unknownValidator(json);
  }
}

function leaf(json: ValidatorJson, accepts: (value: JsonValue | undefined) => boolean): Compiled {
  const text = renderValidator(json);
  return {
    accepts,
    explain: (value, _resolveTable, path) => (accepts(value) ? null : noMatch(value, text, path)),
    text,
  };
}

function compileId(tableName: string, text: string): Compiled {
  return {
    accepts(value, resolveTable) {
      if (typeof value !== "string") return false;
      const id = decodeId(value);
      return id !== null && resolveTable(id.tableNumber) === tableName;
    },
    explain(value, resolveTable, path) {
      if (typeof value !== "string") return noMatch(value, text, path);
      const id = decodeId(value);
      const found = id === null ? null : resolveTable(id.tableNumber);
      if (found === null) return noMatch(value, text, path);
      if (found === tableName) return null;
      const origin = found.startsWith("_") ? "a system table" : `table \`${found}\``;
      return (
        `Found ID "${value}" from ${origin}, which does not match the table name in validator ` +
        `\`${text}\`.${pathLine(path)}`
      );
    },
    text,
  };
}

function compileLiteral(literal: JsonValue, text: string): Compiled {
  const plain = typeof literal === "string" || typeof literal === "boolean";
  const key = encodeKeyPart(literal);
  const accepts = plain
    ? (value: JsonValue | undefined) => value === literal
    : (value: JsonValue | undefined) => encodeKeyPart(value) === key;
  return {
    accepts,
    explain: (value, _resolveTable, path) =>
      accepts(value)
        ? null
        : `\`${renderValue(value)}\` does not match literal validator \`${text}\`.${pathLine(path)}`,
    text,
  };
}

function compileArray(element: ValidatorJson, text: string): Compiled {
  const inner = compile(element);
  return {
    accepts(value, resolveTable) {
      if (!Array.isArray(value)) return false;
      for (const item of value) if (!inner.accepts(item, resolveTable)) return false;
      return true;
    },
    explain(value, resolveTable, path) {
      if (!Array.isArray(value)) return noMatch(value, text, path);
      for (let i = 0; i < value.length; i++) {
        const failure = inner.explain(value[i], resolveTable, `${path}[${i}]`);
        if (failure !== null) return failure;
      }
      return null;
    },
    text,
  };
}

interface CompiledField {
  name: string;
  check: Compiled;
  optional: boolean;
  /** Object.prototype has this name too, so a plain read would find a value that is not in the object. */
  inherited: boolean;
}

function compileObject(fieldsJson: Record<string, FieldJson>, text: string, isDocument: boolean): Compiled {
  const fields = Object.keys(fieldsJson)
    .toSorted()
    .map((name): CompiledField => {
      const { fieldType, optional } = fieldsJson[name]!;
      return { name, check: compile(fieldType), optional, inherited: name in Object.prototype };
    });
  const names = new Set(fields.map((field) => field.name));
  return {
    accepts(value, resolveTable) {
      if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
      let known = 0;
      for (const field of fields) {
        const inner = readField(value, field);
        if (inner === undefined) {
          if (!field.optional) return false;
        } else {
          if (!field.check.accepts(inner, resolveTable)) return false;
          known++;
        }
      }
      // A field beyond the known ones, which also refuses `$` encodings: their one field is never known.
      let present = 0;
      for (const name in value) if (!isDocument || !isSystemField(name)) present++;
      return present === known;
    },
    explain(value, resolveTable, path) {
      if (!isObject(value)) return noMatch(value, text, path);
      for (const field of fields) {
        const inner = readField(value, field);
        if (inner !== undefined) {
          const failure = field.check.explain(inner, resolveTable, `${path}.${field.name}`);
          if (failure !== null) return failure;
        } else if (!field.optional) {
          return (
            `Object is missing the required field \`${field.name}\`. Consider wrapping the field validator in ` +
            `\`v.optional(...)\` if this is expected.\n${pathLine(path)}\nObject: ${renderValue(value)}\n` +
            `Validator: ${text}`
          );
        }
      }
      for (const name of Object.keys(value).toSorted()) {
        if (names.has(name)) continue;
        return (
          `Object contains extra field \`${name}\` that is not in the validator.\n${pathLine(path)}\n` +
          `Object: ${renderValue(value)}\nValidator: ${text}`
        );
      }
      return null;
    },
    text,
  };
}

function readField(object: JsonObject, field: CompiledField): JsonValue | undefined {
  if (field.inherited && !Object.hasOwn(object, field.name)) return undefined;
  return object[field.name];
}

function compileRecord(keysJson: ValidatorJson, valuesJson: ValidatorJson, text: string): Compiled {
  const keys = compile(keysJson);
  const values = compile(valuesJson);
  return {
    accepts(value, resolveTable) {
      if (!isObject(value)) return false;
      for (const key in value) {
        if (!keys.accepts(key, resolveTable) || !values.accepts(value[key], resolveTable)) return false;
      }
      return true;
    },
    explain(value, resolveTable, path) {
      if (!isObject(value)) return noMatch(value, text, path);
      for (const key of Object.keys(value).toSorted()) {
        const failure =
          keys.explain(key, resolveTable, `${path}.keys()`) ??
          values.explain(value[key], resolveTable, `${path}.values()`);
        if (failure !== null) return failure;
      }
      return null;
    },
    text,
  };
}

function compileUnion(membersJson: ValidatorJson[], text: string, isDocument: boolean): Compiled {
  // A union of one is its member, in its failures too.
  if (membersJson.length === 1) return compile(membersJson[0]!, isDocument);
  const literals = new Set<JsonValue>();
  const members: Compiled[] = [];
  for (const member of membersJson) {
    // Status fields are unions of string literals: one lookup instead of a call for each.
    if (member.type === "literal" && typeof member.value === "string") literals.add(member.value);
    else members.push(compile(member, isDocument));
  }
  const accepts = (value: JsonValue | undefined, resolveTable: ResolveTable): boolean => {
    if (typeof value === "string" && literals.has(value)) return true;
    for (const member of members) if (member.accepts(value, resolveTable)) return true;
    return false;
  };
  return {
    accepts,
    explain: (value, resolveTable, path) =>
      accepts(value, resolveTable) ? null : noMatch(value, text, path),
    text,
  };
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && typeOf(value) === "object";
}

function noMatch(value: JsonValue | undefined, validator: string, path: string): string {
  return `${MISMATCH}\n${pathLine(path)}\nValue: ${renderValue(value)}\nValidator: ${validator}`;
}

function pathLine(path: string): string {
  return path === "" ? "" : `Path: ${path}`;
}

function withoutSystemFields(json: ValidatorJson): ValidatorJson {
  if (json.type === "union") return { type: "union", value: json.value.map(withoutSystemFields) };
  if (json.type !== "object") return json;
  const fields = Object.entries(json.value).filter(([name]) => !isSystemField(name));
  return { type: "object", value: Object.fromEntries(fields) };
}

function isSystemField(name: string): boolean {
  return name.charCodeAt(0) === 95;
}
