// Tests that fail, and what their report has; with a server that outlives the run.
import { defineConfig } from "@playwright/test";

export default defineConfig({
  fullyParallel: true,
  workers: 1,
  use: {
    screenshot: "only-on-failure",
    launchOptions: process.env.CHROMIUM ? { executablePath: process.env.CHROMIUM, args: ["--no-sandbox"] } : {},
  },
});
