// Forty tests, in whose middle tests/restart/run restarts PostgreSQL. `npm test` does not run them.
import { defineConfig } from "@playwright/test";

export default defineConfig({ fullyParallel: true, timeout: 120_000 });
