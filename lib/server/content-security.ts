/** The content security policies of the app: one for pages without a session, one for the live screens. */

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

/**
 * For pages that Next may have rendered before anybody asked: it writes inline scripts for its own data there, which
 * no nonce can name, so 'unsafe-inline' is needed. Nothing from another host runs either way.
 */
export function staticPolicy({ isDevelopment }: PolicyOptions): string {
  return [
    ...COMMON,
    `script-src 'self' 'unsafe-inline'${isDevelopment ? " 'unsafe-eval'" : ""}`,
    `connect-src 'self'${isDevelopment ? " ws:" : ""}`,
  ].join("; ");
}

/**
 * For screens that are rendered for one request: scripts need the nonce of that request, and the page may talk to the
 * Convex deployment it was given, over HTTP and WebSocket, and to nobody else.
 */
export function livePolicy(nonce: string, convexUrl: string, { isDevelopment }: PolicyOptions): string {
  const { origin } = new URL(convexUrl);
  return [
    ...COMMON,
    `script-src 'self' 'nonce-${nonce}' 'strict-dynamic'${isDevelopment ? " 'unsafe-eval'" : ""}`,
    `connect-src 'self' ${origin} ${origin.replace(/^http/, "ws")}${isDevelopment ? " ws:" : ""}`,
  ].join("; ");
}
