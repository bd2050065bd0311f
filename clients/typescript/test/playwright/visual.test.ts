/** The recipe of the README for a visual test of a mail: the code may change, and nothing else. */

import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { expect, test } from "vitest";

import { Run } from "./run.js";

test("a picture of a mail is compared", { timeout: 120_000 }, async () => {
  const PICTURES = mkdtempSync(join(tmpdir(), "restante-test-"));
  const run = async (TITLE: string, CODE: string, ...flags: string[]) => {
    const { tests } = await new Run(join(__dirname, "visual"), flags, { PICTURES, TITLE, CODE }).report();
    return tests.map(({ status, errors }) => [status, /screenshot|differ/.test(errors)]);
  };
  expect(await run("Hello!", "482913", "--update-snapshots")).toEqual([["passed", false]]);
  // In many fonts, 11 is narrower than two other digits.
  expect(await run("Hello!", "111111")).toEqual([["passed", false]]);
  expect(await run("Something else", "482913")).toEqual([["failed", true]]);
});
