/** The limits of Jest and Vitest do not hide why no message arrived. */

import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";

import { test } from "vitest";

const PACKAGE = join(__dirname, "..");
const RUNNERS: [string, string[]][] = [
  ["jest", ["--rootDir", "test/limits", "--testMatch", "**/*.test.cjs"]],
  ["vitest", ["run", "--config", "test/limits/vitest.config.mts"]],
];

test.concurrent.for(RUNNERS)("%s", async ([runner, flags], { expect }) => {
  const { VITEST: _vitest, NODE_ENV: _env, ...env } = process.env;
  const program = join(PACKAGE, "node_modules/.bin", runner);
  const result = await promisify(execFile)(program, flags, { cwd: PACKAGE, env: { ...env, NO_COLOR: "1" } }).then(
    () => expect.fail("the test without mail passed"),
    (error: unknown) => error as { stdout: string; stderr: string },
  );
  const output = result.stdout + result.stderr;
  expect(output).toContain("limited by the timeout of the test");
  expect(output).toContain("Nothing has connected over SMTP");
  expect(output).toMatch(/1 failed.*1 passed/);
});
