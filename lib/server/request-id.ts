import type { Answer, PlainRequest } from "./http.ts";

export const REQUEST_ID_HEADER = "x-request-id";

/** What a proxy or a caller may choose; anything else could break a line of the log or a header. */
const PLAIN_ID = /^[\w.-]{1,64}$/;

/** The id that names a request in answers and logs: the caller's own where it is plain, else a new one. */
export function requestIdOf(headers: PlainRequest["headers"], newId: () => string): string {
  const sent = headers.get(REQUEST_ID_HEADER);
  return sent !== null && PLAIN_ID.test(sent) ? sent : newId();
}

export function withRequestId(answer: Answer, requestId: string): Answer {
  if (!(answer instanceof Response)) {
    return { ...answer, headers: { ...answer.headers, [REQUEST_ID_HEADER]: requestId } };
  }
  answer.headers.set(REQUEST_ID_HEADER, requestId);
  return answer;
}
