/**
 * `npx restante init`: lets the configuration of Playwright, Vitest or Jest start a server for each run, and tells its
 * address to the application under test. It changes nothing in a configuration that uses Restante already.
 */

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { basename, extname, join } from "node:path";

/** A test runner: its package, the names of its configuration without their endings, and a new configuration. */
interface Runner {
  name: string;
  dependency: string;
  files: string[];
  body: (isModule: boolean) => string;
}

const TIMEOUT = "// Longer than a wait (30 s), so that a test shows why no message arrived.";
const TO_FILL_IN = `  // Where the application is, and how it is started after the mail server.
  // use: { baseURL: "http://127.0.0.1:3000" },
  // webServer: { command: "npm start", url: "http://127.0.0.1:3000" },
`;
const RUNNERS: Runner[] = [
  {
    name: "Playwright",
    dependency: "@playwright/test",
    files: ["playwright.config"],
    body: (isModule) => `${exported(isModule)} {\n  ${TIMEOUT}\n  timeout: 40_000,\n${TO_FILL_IN}};\n`,
  },
  {
    name: "Vitest",
    dependency: "vitest",
    files: ["vitest.config"],
    body: (isModule) => `${exported(isModule)} {\n  ${TIMEOUT}\n  test: { testTimeout: 40_000 },\n};\n`,
  },
  {
    name: "Jest",
    dependency: "jest",
    files: ["jest.config"],
    body: (isModule) => `${exported(isModule)} {\n  ${TIMEOUT}\n  testTimeout: 40_000,\n};\n`,
  },
];
const ENDINGS = [".ts", ".mts", ".cts", ".js", ".mjs", ".cjs"];
const ENVIRONMENT_FILES = [".env", ".env.example", ".env.test", ".env.local", ".env.sample"];
const HOST = /^(?:export )?(?<host>(?:\w*_)?(?:SMTP|E?MAIL)_(?:HOST|SERVER|SMTP_HOST))=/m;

/** What the package.json of the project says. */
interface Project {
  type?: string;
  jest?: unknown;
  dependencies?: Record<string, string>;
  devDependencies?: Record<string, string>;
}

/** Writes the configuration in a directory. Returns what was done, a line for each runner. */
export function init(directory: string): string[] {
  const project = JSON.parse(read(join(directory, "package.json")) || "{}") as Project;
  const dependencies = { ...project.dependencies, ...project.devDependencies };
  const found = RUNNERS.filter(({ dependency }) => dependency in dependencies);
  if (found.length === 0) {
    const names = RUNNERS.map(({ dependency }) => dependency).join(", ");
    return [`package.json has none of ${names}. For node:test, no configuration is needed: see Restante.connect().`];
  }
  return found.map((runner) => configure(directory, runner, project));
}

function configure(directory: string, runner: Runner, project: Project): string {
  const names = runner.files.flatMap((file) => ENDINGS.map((ending) => file + ending));
  const existing = names.find((name) => existsSync(join(directory, name)));
  if (existing === undefined && runner.dependency === "jest" && project.jest !== undefined) {
    return "Jest: its configuration is in package.json. Move it to jest.config.js, and run this again.";
  }
  const vite = runner.dependency === "vitest" && existing === undefined ? viteConfig(directory) : undefined;
  // Playwright runs TypeScript itself, and its own new projects have no tsconfig.json.
  const isTyped = runner.name === "Playwright" || existsSync(join(directory, "tsconfig.json"));
  const ending = isTyped ? ".ts" : ".js";
  const name = existing ?? `${runner.files[0]}${vite === undefined ? ending : endingBeside(vite)}`;
  const path = join(directory, name);
  const text = read(path);
  if (/["']restante["']/.test(text)) return `${runner.name}: ${name} uses Restante already. Nothing was changed.`;
  const named = variables(directory);
  const [host, port] = named ?? ["SMTP_HOST", "SMTP_PORT"];
  if (vite !== undefined) {
    writeFileSync(path, merged(vite, read(join(directory, vite)), start(host, port)));
  } else {
    const isModule = isModuleFile(name, text, project, existing !== undefined);
    const head = [imported(isModule), "", ...start(host, port), ""].join("\n");
    writeFileSync(path, `${head}\n${existing === undefined ? runner.body(isModule) : text}`);
  }
  return (
    `${runner.name}: ${name} starts a server for each run. The application under test finds its SMTP server in ` +
    `${host} and ${port}${named === undefined ? ": change them to the names that it reads" : ""}.`
  );
}

/** Whether the file has `import`, and not `require`. */
function isModuleFile(name: string, text: string, project: Project, exists: boolean): boolean {
  if (/\.c[jt]s$/.test(name)) return false;
  if (/\.m?ts$|\.mjs$/.test(name)) return true;
  if (exists && /^\s*(?:import\s|export\s)/m.test(text)) return true;
  return project.type === "module";
}

function exported(isModule: boolean): string {
  return isModule ? "export default" : "module.exports =";
}

function imported(isModule: boolean): string {
  return isModule ? 'import { serverForRun } from "restante";' : 'const { serverForRun } = require("restante");';
}

function start(host: string, port: string): string[] {
  return [
    "// Each run has its own mail server. The application under test finds its address in these variables.",
    "const restante = serverForRun();",
    `process.env.${host} = restante.smtp.host;`,
    `process.env.${port} = String(restante.smtp.port);`,
  ];
}

/** The configuration of Vite, which is also that of Vitest if there is no other. */
function viteConfig(directory: string): string | undefined {
  return ENDINGS.map((ending) => `vite.config${ending}`).find((name) => existsSync(join(directory, name)));
}

/** The ending of a module beside Vite's configuration. */
function endingBeside(vite: string): string {
  return extname(vite).replace(".c", ".m");
}

/**
 * A configuration of Vitest that adds to Vite's. That one stays as it is, because Vite reads it for `vite dev` and
 * `vite build`, too.
 */
function merged(vite: string, text: string, start: string[]): string {
  const source = /\.[jt]s$/.test(vite) ? basename(vite, extname(vite)) : vite.replace(/ts$/, "js");
  const isFunction =
    /(?:defineConfig\(|export default|module\.exports =)\s*(?:async\b|function\b|\(?[\w{][^()]*\)?\s*=>|\(\)\s*=>)/;
  const body = isFunction.test(text)
    ? "export default defineConfig(async (env) => mergeConfig(defaults, await viteConfig(env)));"
    : "export default mergeConfig(defaults, viteConfig);";
  const names = isFunction.test(text) ? "defineConfig, mergeConfig" : "mergeConfig";
  return [
    imported(true),
    `import { ${names} } from "vitest/config";`,
    "",
    `import viteConfig from "./${source}";`,
    "",
    ...start,
    "",
    TIMEOUT,
    "const defaults = { test: { testTimeout: 40_000 } };",
    body,
    "",
  ].join("\n");
}

/** The variables that the project names for the host and the port of the SMTP server. */
function variables(directory: string): [string, string] | undefined {
  for (const name of ENVIRONMENT_FILES) {
    const host = HOST.exec(read(join(directory, name)))?.groups?.host;
    if (host !== undefined) return [host, host.replace(/(?:HOST|SERVER)$/, "PORT")];
  }
  return undefined;
}

function read(path: string): string {
  return existsSync(path) ? readFileSync(path, "utf8") : "";
}
