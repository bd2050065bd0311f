import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: ["test/temporary.ts"],
    // For tests that hang, also on a machine that is busy.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    maxConcurrency: 8,
    maxWorkers: 2,
  },
});
