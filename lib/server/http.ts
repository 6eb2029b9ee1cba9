/**
 * The part of a fetch `Request` that handlers use, so that a Node server can hand over its own request without making
 * one: a `Request` with its headers, signal and stream costs as much as the rest of the HTTP work of an admission.
 */
export interface PlainRequest {
  readonly method: string;
  /** Absolute. Its origin says nothing about the client: a Host header is anybody's to set. */
  readonly url: string;
  readonly headers: { get(name: string): string | null };
  /** Nothing is taken from the connection before it is read. Throws when the client goes before the end. */
  readonly body: AsyncIterable<Uint8Array> | null;
}

/** A finished response in plain values. */
export interface PlainResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Null: no body. */
  readonly text: string | null;
}

/** What a handler answers: plain values, or a fetch `Response` when it streams. */
export type Answer = PlainResponse | Response;

/** The answer as Next.js takes it. Next frames bodies itself and drops a length. */
export function toResponse(answer: Answer): Response {
  if (answer instanceof Response) return answer;
  return new Response(answer.text, { status: answer.status, headers: answer.headers });
}
