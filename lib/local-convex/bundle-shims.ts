/** What the official CLI replaces in the code it bundles (facts §8). */
import type { Plugin } from "esbuild";

export function shims(platform: "browser" | "node"): Plugin {
  return {
    name: "convex-shims",
    setup(setup) {
      setup.onResolve({ filter: /^server-only$/ }, ({ path }) => ({ path, namespace: "empty" }));
      setup.onLoad({ filter: /.*/, namespace: "empty" }, () => ({ contents: "" }));
      if (platform === "node") return;
      setup.onResolve({ filter: /^(node:)?async_hooks$/ }, ({ path }) => ({
        path,
        namespace: "async-hooks",
      }));
      setup.onLoad({ filter: /.*/, namespace: "async-hooks" }, () => ({
        contents: "export const { AsyncLocalStorage, AsyncResource } = globalThis;",
      }));
    },
  };
}
