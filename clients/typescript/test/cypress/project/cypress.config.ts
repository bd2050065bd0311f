import { defineConfig } from "cypress";
import { setupRestante } from "restante/cypress";

export default defineConfig({ e2e: { setupNodeEvents: setupRestante, baseUrl: "http://127.0.0.1:3000" } });
