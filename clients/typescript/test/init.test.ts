/** `npx restante init` writes a configuration that runs, and changes none that uses Restante. */

import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

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
  expect(init(folder)).toContain("SHOP_SMTP_HOST and SHOP_SMTP_PORT");
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
    "playwright.config.js",
    /require\("restante"\)[^]*module\.exports = \{/,
  ],
  ["Vitest", { vitest: "1" }, { type: "module" }, "vitest.config.js", /from "restante"[^]*testTimeout: 40_000/],
  ["Jest", { jest: "1" }, {}, "jest.config.js", /require\("restante"\)[^]*testTimeout: 40_000/],
])("a new configuration of %s", ([, devDependencies, fields, name, expected]) => {
  const folder = project({ "package.json": { ...fields, devDependencies } });
  init(folder);
  expect(read(folder, name)).toMatch(expected);
  expect(init(folder)).toContain("Nothing was changed");
});

test("Vite's configuration is that of Vitest, and each runner has its own", () => {
  const folder = project({
    "package.json": { devDependencies: { vitest: "1", "@playwright/test": "1" } },
    "vite.config.mjs": "export default {};\n",
    "tsconfig.json": "{}",
  });
  init(folder);
  expect(readdirSync(folder).sort()).toEqual([
    "package.json",
    "playwright.config.ts",
    "tsconfig.json",
    "vite.config.mjs",
  ]);
  expect(read(folder, "vite.config.mjs")).toMatch(/^import \{ serverForRun \}/);
});

test("what cannot be written is said", () => {
  expect(init(project({ "package.json": { devDependencies: { jest: "1" }, jest: {} } }))).toContain("jest.config.js");
  expect(init(project({ "package.json": {} }))).toContain("package.json has none of");
  expect(init(project({}))).toContain("package.json has none of");
});
