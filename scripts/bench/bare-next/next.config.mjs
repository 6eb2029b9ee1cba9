import { join } from "node:path";

export default {
  poweredByHeader: false,
  // Its packages are those of the project around it. The project's own proxy and instrumentation, which Turbopack
  // would find there too, are TypeScript.
  turbopack: { root: join(import.meta.dirname, "../../..") },
  pageExtensions: ["js"],
};
