/** The examples of the other test runners pass as they are. Playwright's is run by packages.test.ts. */

import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";

import { expect, test } from "vitest";

test.concurrent.for(["vitest", "jest", "node-test"])("%s", async (runner) => {
  const { VITEST: _vitest, NODE_ENV: _env, ...env } = process.env;
  const { stdout, stderr } = await promisify(execFile)("npm", ["test"], {
    cwd: join(__dirname, "../examples", runner),
    env: { ...env, NO_COLOR: "1" },
  });
  expect(stdout + stderr).toMatch(/1 passed|# pass 1/);
});
