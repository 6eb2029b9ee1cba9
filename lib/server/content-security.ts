/** The content security policies of the app: for the live screens, for pages without a sign-in, for all else. */

const COMMON = [
  "default-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "object-src 'none'",
  "base-uri 'self'",
  "form-action 'self'",
  "frame-ancestors 'none'",
];

export interface PolicyOptions {
  /** `next dev` evaluates code and keeps a WebSocket to itself open. */
  readonly isDevelopment: boolean;
}

/** For answers that are no page of the app: files, JSON, and whatever Next says when it has no page. No inline script. */
export function answerPolicy({ isDevelopment }: PolicyOptions): string {
  return [
    ...COMMON,
    `script-src 'self'${isDevelopment ? " 'unsafe-eval'" : ""}`,
    `connect-src 'self'${isDevelopment ? " ws:" : ""}`,
  ].join("; ");
}

/** For the pages without a sign-in, which talk to this site alone. Each is rendered for one request and its nonce. */
export function sitePolicy(nonce: string, { isDevelopment }: PolicyOptions): string {
  return [
    ...COMMON,
    scriptsOf(nonce, isDevelopment),
    `connect-src 'self'${isDevelopment ? " ws:" : ""}`,
  ].join("; ");
}

/** Next's own inline scripts carry the nonce, and what they load is let in by them. */
function scriptsOf(nonce: string, isDevelopment: boolean): string {
  return `script-src 'self' 'nonce-${nonce}' 'strict-dynamic'${isDevelopment ? " 'unsafe-eval'" : ""}`;
}

/**
 * For screens that are rendered for one request: scripts need the nonce of that request, and the page may talk to the
 * Convex deployment it was given, over HTTP and WebSocket, and to nobody else.
 */
export function livePolicy(nonce: string, convexUrl: string, { isDevelopment }: PolicyOptions): string {
  const { origin } = new URL(convexUrl);
  return [
    ...COMMON,
    scriptsOf(nonce, isDevelopment),
    `connect-src 'self' ${origin} ${origin.replace(/^http/, "ws")}${isDevelopment ? " ws:" : ""}`,
  ].join("; ");
}
