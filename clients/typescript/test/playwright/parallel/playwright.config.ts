// Forty tests on one key with four places for waits, as a hand-started server has them.
import { defineConfig } from "@playwright/test";
import { serverForRun } from "restante";

process.env.RESTANTE_WAITS_PER_KEY ??= "4";
const port = process.env.PORT ?? "3100";
const { smtp } = serverForRun();

export default defineConfig({
  fullyParallel: true,
  workers: Number(process.env.WORKERS ?? "8"),
  timeout: 60_000,
  expect: { timeout: 30_000 },
  use: {
    baseURL: `http://127.0.0.1:${port}`,
    launchOptions: process.env.CHROMIUM ? { executablePath: process.env.CHROMIUM, args: ["--no-sandbox"] } : {},
  },
  webServer: {
    command: "node ../../../examples/playwright/application.mjs",
    url: `http://127.0.0.1:${port}`,
    env: { PORT: port, SMTP_HOST: smtp.host, SMTP_PORT: String(smtp.port) },
  },
});
