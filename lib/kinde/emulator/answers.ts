/** Answers as values, so that a handler can be run now, later or for nothing, and only then is anything sent. */

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Thrown by a handler to refuse the request; nothing it wrote is kept. */
export class Refusal extends Error {
  override readonly name = "Refusal";
  constructor(readonly answer: Answer) {
    super(`refused with ${answer.status}`);
  }
}

export function json(status: number, value: unknown, headers: Record<string, string> = {}): Answer {
  return {
    status,
    headers: { "content-type": "application/json; charset=utf-8", "cache-control": "no-store", ...headers },
    body: JSON.stringify(value),
  };
}

export function redirect(location: string): Answer {
  return { status: 302, headers: { location, "cache-control": "no-store" }, body: "" };
}

/** Kinde's error body. A 404 has an object where the others have a list (facts §3). */
export function errorsAnswer(status: number, code: string, message: string): Answer {
  const error = { code, message };
  return json(status, { errors: status === 404 ? error : [error] });
}

export function apiRefusal(status: number, code: string, message: string): Refusal {
  return new Refusal(errorsAnswer(status, code, message));
}

/** RFC 6749 §5.2. The SDK looks at the body only, other clients at the status. */
export function oauthAnswer(status: number, error: string, description: string): Answer {
  return json(status, { error, error_description: description });
}

export function oauthRefusal(status: number, error: string, description: string): Refusal {
  return new Refusal(oauthAnswer(status, error, description));
}
