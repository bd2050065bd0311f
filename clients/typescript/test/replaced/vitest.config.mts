import { defineConfig } from "vitest/config";

export default defineConfig({ test: { include: ["test/replaced/*.test.cjs"], globals: true } });
