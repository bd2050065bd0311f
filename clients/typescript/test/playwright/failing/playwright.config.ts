// Nothing but the fixtures: the first worker starts the server of the run.
import { defineConfig } from "@playwright/test";

export default defineConfig({
  fullyParallel: true,
  workers: 2,
  use: {
    launchOptions: process.env.CHROMIUM ? { executablePath: process.env.CHROMIUM, args: ["--no-sandbox"] } : {},
  },
});
