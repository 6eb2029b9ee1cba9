import type { NextConfig } from "next";

const isDevelopment = process.env.NODE_ENV === "development";

// Next writes inline scripts for its own data, so scripts need 'unsafe-inline' until pages get nonces; nothing from
// another host runs either way. The dev server also evaluates code and keeps a WebSocket to itself open.
const contentSecurityPolicy = [
  "default-src 'self'",
  `script-src 'self' 'unsafe-inline'${isDevelopment ? " 'unsafe-eval'" : ""}`,
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  `connect-src 'self'${isDevelopment ? " ws:" : ""}`,
  "object-src 'none'",
  "base-uri 'self'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join("; ");

const securityHeaders = [
  { key: "Content-Security-Policy", value: contentSecurityPolicy },
  { key: "X-Content-Type-Options", value: "nosniff" },
  { key: "X-Frame-Options", value: "DENY" },
  { key: "Referrer-Policy", value: "strict-origin-when-cross-origin" },
  { key: "Permissions-Policy", value: "camera=(), microphone=(), geolocation=()" },
  { key: "Cross-Origin-Opener-Policy", value: "same-origin" },
];

const config: NextConfig = {
  poweredByHeader: false,
  // The API answers in small JSON bodies on one machine; a proxy in front compresses better than this process does.
  compress: false,
  // A tree above this one may hold another lockfile; the root is this folder whatever is around it.
  turbopack: { root: import.meta.dirname },
  outputFileTracingRoot: import.meta.dirname,
  // eslint-disable-next-line require-await -- the type asks for a promise
  headers: async () => [{ source: "/:path*", headers: securityHeaders }],
};

export default config;
