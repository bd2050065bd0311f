import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: ["test/temporary.ts"],
    // Long enough for a busy machine: these limits are for tests that hang.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    maxConcurrency: 8,
    maxWorkers: 2,
  },
});
