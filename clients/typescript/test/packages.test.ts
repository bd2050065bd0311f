/** The packages as a project installs them: from tarballs into an empty folder, with nothing of this repository. */

import { execFile } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { promisify } from "node:util";

import { beforeAll, expect, test } from "vitest";

import { findBinary } from "../src/binary.js";
import { freePort } from "./port.js";

const PACKAGE = join(__dirname, "..");
const PACK = join(PACKAGE, "../packages/npm.mjs");
/** Of a run beside this repository: the packages have the program, and are looked for in the project alone. */
const { RESTANTE_BIN: _bin, RESTANTE_URL: _url, NODE_PATH: _path, ...environment } = process.env;

let tarballs: string[];
let project: string;

beforeAll(async () => {
  const out = mkdtempSync(join(tmpdir(), "restante-packages-"));
  // Without symbols, it is packed several times faster.
  const program = join(mkdtempSync(join(tmpdir(), "restante-program-")), "restante");
  await run("strip", ["--strip-debug", "-o", program, findBinary()], PACKAGE);
  await run(process.execPath, [PACK, program, out], PACKAGE);
  tarballs = readdirSync(out).map((name) => join(out, name));
  project = mkdtempSync(join(tmpdir(), "restante-project-"));
  const unwanted = new Set(["node_modules", "test-results"]);
  cpSync(join(PACKAGE, "examples/playwright"), project, {
    recursive: true,
    filter: (path) => !unwanted.has(basename(path)),
  });
  // As in a new project, nothing of this repository is installed.
  const manifest = join(project, "package.json");
  const { devDependencies, ...rest } = JSON.parse(readFileSync(manifest, "utf8")) as {
    devDependencies: Record<string, string>;
  };
  delete devDependencies.restante;
  writeFileSync(manifest, JSON.stringify({ ...rest, devDependencies }));
  // The packages of other platforms are in no registry.
  const empty = createServer((_request, response) => response.writeHead(404).end("{}")).listen(0, "127.0.0.1");
  await once(empty, "listening");
  const { port } = empty.address() as AddressInfo;
  writeFileSync(join(project, ".npmrc"), `@restante:registry=http://127.0.0.1:${port}/\nnoproxy=127.0.0.1\n`);
  await run("npm", ["install", "--prefer-offline", "--no-audit", "--no-fund", "--save-dev", ...tarballs], project);
  empty.close();
});

async function run(program: string, flags: string[], cwd: string): Promise<string> {
  const env = { ...environment, PORT: await freePort(), PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD: "1" };
  const { stdout } = await promisify(execFile)(program, flags, { cwd, env }).catch((error: unknown) => {
    const { stdout, stderr } = error as { stdout: string; stderr: string };
    throw new Error(`${program} ${flags.join(" ")} failed:\n${stdout}\n${stderr}`, { cause: error });
  });
  return stdout;
}

test("the installed command runs the packaged server", async () => {
  expect(await run("npx", ["--no-install", "restante", "--version"], project)).toMatch(/^restante \d/);
});

test("the Playwright example passes", async () => {
  const output = await run("npx", ["--no-install", "playwright", "test", "--reporter=list"], project);
  expect(output).toMatch(/\d+ passed/);
});

test("both kinds of import have the same classes", async () => {
  const script = `
    const { RestanteError } = require("restante");
    import("restante").then((module) => console.log(module.RestanteError === RestanteError));`;
  expect(await run(process.execPath, ["-e", script], project)).toBe("true\n");
});

test("every tarball has the licences, and its README has no relative link", async () => {
  expect(tarballs).toHaveLength(2);
  for (const tarball of tarballs) {
    const files = (await run("tar", ["-tzf", tarball], project)).split("\n");
    expect(files).toEqual(expect.arrayContaining(["package/LICENSE-APACHE", "package/LICENSE-MIT"]));
    const readme = await run("tar", ["-xzOf", tarball, "package/README.md"], project);
    expect(readme).not.toMatch(/\]\((?![a-z]+:|#)/);
  }
});

test("publint and arethetypeswrong find nothing", async () => {
  const [client = ""] = tarballs.filter((path) => /restante-\d[^/]*$/.test(path));
  expect(await run("npx", ["--no-install", "publint", client, "--strict"], PACKAGE)).toContain("All good!");
  expect(await run("npx", ["--no-install", "attw", client], PACKAGE)).toContain("No problems found");
});
