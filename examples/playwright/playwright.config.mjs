import { defineConfig } from "@playwright/test";

const port = process.env.APPLICATION_PORT ?? "3000";
const chromium = process.env.CHROMIUM;

export default defineConfig({
  reporter: "line",
  use: {
    baseURL: `http://127.0.0.1:${port}`,
    launchOptions: chromium ? { executablePath: chromium, args: ["--no-sandbox"] } : {},
  },
  webServer: { command: "node application.mjs", url: `http://127.0.0.1:${port}` },
});
