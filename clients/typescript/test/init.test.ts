/** `npx restante init` writes a configuration that runs, and changes none that uses Restante. */

import { execFile, execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

import { expect, test } from "vitest";

const PROGRAM = join(__dirname, "../bin/restante.js");

/** A project with these files; a value that is no text is written as JSON. */
function project(files: Record<string, unknown>): string {
  const folder = mkdtempSync(join(tmpdir(), "init-"));
  for (const [name, content] of Object.entries(files)) {
    writeFileSync(join(folder, name), typeof content === "string" ? content : JSON.stringify(content));
  }
  return folder;
}

const init = (folder: string) => execFileSync(process.execPath, [PROGRAM, "init"], { cwd: folder, encoding: "utf8" });
const read = (folder: string, name: string) => readFileSync(join(folder, name), "utf8");

test("a configuration is kept, and starts with the server", () => {
  const before =
    'import { defineConfig } from "@playwright/test";\n\nexport default defineConfig({ testDir: "e2e" });\n';
  const folder = project({
    "package.json": { devDependencies: { "@playwright/test": "1" } },
    "playwright.config.ts": before,
    ".env.example": "PORT=1\nSHOP_SMTP_HOST=mail\n",
  });
  expect(init(folder)).toContain("SHOP_SMTP_HOST and SHOP_SMTP_PORT.\n");
  const written = read(folder, "playwright.config.ts");
  expect(written).toMatch(/^import \{ serverForRun \} from "restante";\n/);
  expect(written).toContain("process.env.SHOP_SMTP_HOST = restante.smtp.host;");
  expect(written.endsWith(before)).toBe(true);
  expect(init(folder)).toContain("Nothing was changed");
  expect(read(folder, "playwright.config.ts")).toBe(written);
});

test.for<[string, Record<string, string>, Record<string, unknown>, string, RegExp]>([
  [
    "Playwright",
    { "@playwright/test": "1" },
    {},
    "playwright.config.ts",
    /from "restante"[^]*\{[^]*\/\/ use: \{ baseURL[^]*\/\/ webServer: /,
  ],
  ["Vitest", { vitest: "1" }, { type: "module" }, "vitest.config.js", /from "restante"[^]*testTimeout: 40_000/],
  ["Jest", { jest: "1" }, {}, "jest.config.js", /require\("restante"\)[^]*testTimeout: 40_000/],
])("a new configuration of %s", ([, devDependencies, fields, name, expected]) => {
  const folder = project({ "package.json": { ...fields, devDependencies } });
  expect(init(folder)).toContain("SMTP_HOST and SMTP_PORT: change them to the names that it reads.\n");
  expect(read(folder, name)).toMatch(expected);
  expect(init(folder)).toContain("Nothing was changed");
});

test("Vite's configuration is not changed, and each runner has its own", () => {
  const before = "export default {};\n";
  const folder = project({
    "package.json": { devDependencies: { vitest: "1", "@playwright/test": "1" } },
    "vite.config.mjs": before,
    "tsconfig.json": "{}",
  });
  init(folder);
  expect(read(folder, "vite.config.mjs")).toBe(before);
  expect(readdirSync(folder).sort()).toEqual([
    "package.json",
    "playwright.config.ts",
    "tsconfig.json",
    "vite.config.mjs",
    "vitest.config.mjs",
  ]);
  expect(init(folder)).toContain("Vitest: vitest.config.mjs uses Restante already");
});

const DEFINED = 'import { defineConfig } from "vite";\nexport default defineConfig(';
const OPTIONS = '{ define: { FROM_VITE: "17" } }';

test.for<[string, string, string]>([
  ["an object", "vite.config.ts", `export default ${OPTIONS};`],
  ["a defined one", "vite.config.mts", `${DEFINED}${OPTIONS});`],
  ["a function", "vite.config.js", `${DEFINED}({ mode }) => (mode === "test" ? ${OPTIONS} : {}));`],
  ["an asynchronous function", "vite.config.mjs", `${DEFINED}async () => { return ${OPTIONS}; });`],
  ["a function with a name", "vite.config.ts", `export default function config() { return ${OPTIONS}; }`],
])("Vitest reads Vite's configuration, and `vite build` starts no server: %s", async ([, name, text]) => {
  const folder = project({
    "package.json": { type: "module", devDependencies: { vitest: "4" } },
    [name]: text,
    "main.js": "console.log(FROM_VITE);",
    "index.html": '<script type="module" src="/main.js"></script>',
    "some.test.js": `
      import { expect, test } from "vitest";
      test("both configurations", ({ task }) => {
        expect([FROM_VITE, task.timeout, process.env.SMTP_HOST]).toEqual([17, 40_000, "127.0.0.1"]);
      });`,
  });
  symlinkSync(join(__dirname, "../node_modules"), join(folder, "node_modules"));
  init(folder);
  const { VITEST: _vitest, NODE_ENV: _env, ...env } = process.env;
  const run = (command: string, ...args: string[]) =>
    promisify(execFile)(process.execPath, [join(folder, "node_modules", command), ...args], { cwd: folder, env });
  expect((await run("vitest/vitest.mjs", "run")).stdout).toMatch(/1 passed/);
  env.RESTANTE_BIN = join(folder, "no-such-program");
  await run("vite/bin/vite.js", "build");
});

test("what cannot be written is said", () => {
  expect(init(project({ "package.json": { devDependencies: { jest: "1" }, jest: {} } }))).toContain("jest.config.js");
  expect(init(project({ "package.json": {} }))).toContain("package.json has none of");
  expect(init(project({}))).toContain("package.json has none of");
});
