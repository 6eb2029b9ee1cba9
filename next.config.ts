import type { NextConfig } from "next";
import { answerPolicy } from "./lib/server/content-security.ts";
import { securityHeaders } from "./lib/server/security-headers.ts";

const isDevelopment = process.env.NODE_ENV === "development";
const everywhere = entriesOf(securityHeaders);
const answers = entriesOf({ "Content-Security-Policy": answerPolicy({ isDevelopment }) });

const config: NextConfig = {
  poweredByHeader: false,
  // The API answers in small JSON bodies on one machine; a proxy in front compresses better than this process does.
  compress: false,
  // A tree above this one may hold another lockfile; the root is this folder whatever is around it.
  turbopack: { root: import.meta.dirname },
  outputFileTracingRoot: import.meta.dirname,
  // eslint-disable-next-line require-await -- the type asks for a promise
  headers: async () => [
    { source: "/:path*", headers: everywhere },
    // proxy.ts writes a policy with a nonce for every page; two would both have to be met.
    { source: "/((?:_next|api)/.*)", headers: answers },
    { source: "/((?!app$|ops$|docs$)[^/]+)", headers: answers },
  ],
};

function entriesOf(headers: Readonly<Record<string, string>>): { key: string; value: string }[] {
  return Object.entries(headers).map(([key, value]) => ({ key, value }));
}

export default config;
