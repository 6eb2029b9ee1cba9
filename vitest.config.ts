import { configDefaults, defineConfig } from "vitest/config";
import { ENGINE_ONLY } from "./tests/helpers/engine-only.ts";

const isMock = process.env["HOLDFAST_TEST_BACKEND"] === "convex-test";

export default defineConfig({
  test: {
    include: ["tests/**/*.test.ts"],
    exclude: [...configDefaults.exclude, ...(isMock ? ENGINE_ONLY : [])],
    environment: "node",
    testTimeout: 30_000,
    hookTimeout: 60_000,
    // Integration tests start real processes; two at a time is what a small machine bears.
    maxWorkers: 2,
  },
});
