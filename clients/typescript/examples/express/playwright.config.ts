import { defineConfig } from "@playwright/test";
import { serverForRun } from "restante";

const port = process.env.PORT ?? "3001";
const { smtp } = serverForRun();

export default defineConfig({
  testDir: "tests",
  use: {
    baseURL: `http://127.0.0.1:${port}`,
    // For a browser that is installed already, as Debian's: CHROMIUM=/usr/bin/chromium
    launchOptions: process.env.CHROMIUM ? { executablePath: process.env.CHROMIUM, args: ["--no-sandbox"] } : {},
  },
  webServer: {
    command: "node application.mjs",
    url: `http://127.0.0.1:${port}/sign-up`,
    env: { PORT: port, SMTP_HOST: smtp.host, SMTP_PORT: String(smtp.port) },
  },
});
