/** The examples of the other test runners and of Express pass as they are. Playwright's is run by packages.test.ts. */

import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";

import { expect, test } from "vitest";

import { freePort } from "./port.js";

/** Their own limits are for a user's machine, on which not all run at once. */
const LIMITS: [string, string[]][] = [
  ["vitest", ["--testTimeout=60000", "--hookTimeout=60000"]],
  ["jest", ["--testTimeout=60000"]],
  ["node-test", []],
  ["express", ["--timeout=60000"]],
];

test.concurrent.for(LIMITS)("%s", async ([runner, limits]) => {
  const { VITEST: _vitest, NODE_ENV: _env, ...env } = process.env;
  const { stdout, stderr } = await promisify(execFile)("npm", ["test", "--", ...limits], {
    cwd: join(__dirname, "../examples", runner),
    env: { ...env, NO_COLOR: "1", PORT: await freePort() },
  });
  expect(stdout + stderr).toMatch(/[13] passed|[#ℹ] pass 1/);
});
