/**
 * The headers that every answer carries, through either door: `next.config.ts` gives them to Next's answers and the
 * front door to its own. The content security policy comes beside them, because it differs by page.
 */
export const securityHeaders: Readonly<Record<string, string>> = {
  "X-Content-Type-Options": "nosniff",
  "X-Frame-Options": "DENY",
  "Referrer-Policy": "strict-origin-when-cross-origin",
  "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
  "Cross-Origin-Opener-Policy": "same-origin",
};
