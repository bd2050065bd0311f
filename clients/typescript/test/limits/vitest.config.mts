import { defineConfig } from "vitest/config";

export default defineConfig({ test: { include: ["test/limits/*.test.cjs"], globals: true } });
