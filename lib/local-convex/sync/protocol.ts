/**
 * The messages of Convex's sync protocol (facts §5.1, §5.2) and their encoding. Results are spliced in as the JSON
 * text that functions returned, so no value is decoded on its way to a client.
 */
import type { JsonObject, JsonValue } from "../values/json.ts";

export interface AddQuery {
  type: "Add";
  queryId: number;
  udfPath: string;
  args: JsonObject;
  journal: string | null;
}

export type QuerySetChange = AddQuery | { type: "Remove"; queryId: number };

export type ClientMessage =
  | { type: "Connect"; sessionId: string; maxObservedTimestamp: bigint | null }
  | { type: "ModifyQuerySet"; baseVersion: number; newVersion: number; modifications: QuerySetChange[] }
  | { type: "Mutation" | "Action"; requestId: number; udfPath: string; args: JsonObject }
  | {
      type: "Authenticate";
      baseVersion: number;
      tokenType: "User" | "Admin" | "None";
      value: string;
      impersonating: JsonObject | null;
    }
  | { type: "Event" };

export type CallMessage = Extract<ClientMessage, { type: "Mutation" | "Action" }>;
export type AuthenticateMessage = Extract<ClientMessage, { type: "Authenticate" }>;

/** What a client has seen: counts of its own changes, and the commit timestamp (ns) its query values belong to. */
export interface StateVersion {
  querySet: number;
  identity: number;
  ts: bigint;
}

/** The client broke the protocol. Its text is sent as FatalError, which ends the client for good. */
export class ProtocolError extends Error {
  override readonly name = "ProtocolError";
}

const SESSION_CHARS_MAX = 128;

/** @throws ProtocolError when the text is no message of the protocol */
export function parseClientMessage(text: string): ClientMessage {
  let message: unknown;
  try {
    message = JSON.parse(text);
  } catch {
    throw new ProtocolError("The message is not JSON.");
  }
  const fields = object(message, "message");
  switch (fields["type"]) {
    case "Connect":
      return parseConnect(fields);
    case "ModifyQuerySet":
      return {
        type: "ModifyQuerySet",
        baseVersion: count(fields, "baseVersion"),
        newVersion: count(fields, "newVersion"),
        modifications: list(fields, "modifications").map(parseChange),
      };
    case "Mutation":
    case "Action":
      return {
        type: fields["type"],
        requestId: count(fields, "requestId"),
        udfPath: string(fields, "udfPath"),
        args: parseArgs(fields),
      };
    case "Authenticate":
      return parseAuthenticate(fields);
    case "Event":
      return { type: "Event" };
    default:
      throw new ProtocolError(`Unknown message type ${JSON.stringify(fields["type"])}.`);
  }
}

function parseConnect(fields: JsonObject): ClientMessage {
  const sessionId = string(fields, "sessionId");
  if (sessionId.length === 0 || sessionId.length > SESSION_CHARS_MAX)
    throw new ProtocolError("`sessionId` is too long or empty.");
  const observed = fields["maxObservedTimestamp"];
  return {
    type: "Connect",
    sessionId,
    maxObservedTimestamp: observed == null ? null : decodeTs(string(fields, "maxObservedTimestamp")),
  };
}

function parseChange(change: JsonValue): QuerySetChange {
  const fields = object(change, "modification");
  const queryId = count(fields, "queryId");
  if (fields["type"] === "Remove") return { type: "Remove", queryId };
  if (fields["type"] !== "Add")
    throw new ProtocolError(`Unknown modification ${JSON.stringify(fields["type"])}.`);
  return {
    type: "Add",
    queryId,
    udfPath: string(fields, "udfPath"),
    args: parseArgs(fields),
    journal: fields["journal"] == null ? null : string(fields, "journal"),
  };
}

function parseAuthenticate(fields: JsonObject): ClientMessage {
  const { tokenType } = fields;
  if (tokenType !== "User" && tokenType !== "Admin" && tokenType !== "None")
    throw new ProtocolError(`Unknown token type ${JSON.stringify(tokenType)}.`);
  return {
    type: "Authenticate",
    baseVersion: count(fields, "baseVersion"),
    tokenType,
    value: tokenType === "None" ? "" : string(fields, "value"),
    impersonating: fields["impersonating"] == null ? null : object(fields["impersonating"], "impersonating"),
  };
}

/** The arguments of a call or a query. Only the app's own functions can be named, not a component's. */
function parseArgs(fields: JsonObject): JsonObject {
  if (fields["componentPath"] != null && fields["componentPath"] !== "")
    throw new ProtocolError("Components are not supported by local-convex.");
  const args = list(fields, "args");
  return args.length === 0 ? {} : object(args[0], "args[0]");
}

function object(value: unknown, name: string): JsonObject {
  if (value === null || typeof value !== "object" || Array.isArray(value))
    throw new ProtocolError(`\`${name}\` must be an object.`);
  return value as JsonObject;
}

function list(fields: JsonObject, name: string): JsonValue[] {
  const value = fields[name];
  if (!Array.isArray(value)) throw new ProtocolError(`\`${name}\` must be an array.`);
  return value;
}

function string(fields: JsonObject, name: string): string {
  const value = fields[name];
  if (typeof value !== "string") throw new ProtocolError(`\`${name}\` must be a string.`);
  return value;
}

function count(fields: JsonObject, name: string): number {
  const value = fields[name];
  if (typeof value !== "number" || !Number.isSafeInteger(value) || value < 0)
    throw new ProtocolError(`\`${name}\` must be a whole number.`);
  return value;
}

/** Timestamps travel as base64 of 8 bytes, little-endian. */
export function encodeTs(ts: bigint): string {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(ts);
  return bytes.toString("base64");
}

function decodeTs(text: string): bigint {
  const bytes = Buffer.from(text, "base64");
  if (bytes.length !== 8) throw new ProtocolError("A timestamp must have 8 bytes.");
  return bytes.readBigUInt64LE();
}

/** @param modifications JSON texts of QueryUpdated, QueryFailed and QueryRemoved */
export function transitionText(
  start: StateVersion,
  end: StateVersion,
  modifications: readonly string[],
): string {
  return (
    `{"type":"Transition","startVersion":${versionText(start)},"endVersion":${versionText(end)},` +
    `"modifications":[${modifications.join(",")}]}`
  );
}

function versionText({ querySet, identity, ts }: StateVersion): string {
  return JSON.stringify({ querySet, identity, ts: encodeTs(ts) });
}

/** The answer of a mutation (`ts` says when it committed) or an action (no `ts`). */
export function successText(
  call: CallMessage,
  valueText: string,
  logLines: readonly string[],
  ts: bigint | null,
): string {
  const when = ts === null ? "" : `,"ts":"${encodeTs(ts)}"`;
  return (
    `{"type":"${call.type}Response","requestId":${call.requestId},"success":true,"result":${valueText}${when},` +
    `"logLines":${JSON.stringify(logLines)}}`
  );
}

/** `errorData` is present only for a ConvexError: even null would make one of it. */
export function failureText(
  call: CallMessage,
  message: string,
  data: unknown,
  logLines: readonly string[],
): string {
  return JSON.stringify({
    type: `${call.type}Response`,
    requestId: call.requestId,
    success: false,
    result: message,
    ...(data === undefined ? {} : { errorData: data }),
    logLines,
  });
}
