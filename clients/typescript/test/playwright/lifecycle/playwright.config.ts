// A run that is ended from outside. FOR_RUN: the server is started by this file, else by the first worker.
import { defineConfig } from "@playwright/test";
import { serverForRun } from "restante";

if (process.env.FOR_RUN) serverForRun();

export default defineConfig({ workers: 1, timeout: 60_000 });
