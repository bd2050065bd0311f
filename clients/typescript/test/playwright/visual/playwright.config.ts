// The recipe of the README for a visual test of a mail. PICTURES is the folder of the pictures;
// TITLE and CODE are in the mail.
import { defineConfig } from "@playwright/test";
import { serverForRun } from "restante";

serverForRun();

export default defineConfig({
  snapshotPathTemplate: `${process.env.PICTURES}/{arg}{ext}`,
  use: {
    launchOptions: process.env.CHROMIUM ? { executablePath: process.env.CHROMIUM, args: ["--no-sandbox"] } : {},
  },
});
