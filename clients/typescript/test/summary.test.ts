/** The summary of a CI job, and the state of a wait that its runner has ended. */

import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterEach, expect, test, vi } from "vitest";

import { Restante, WaitTimeoutError } from "../src/index.js";

afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});

test("a failed wait is in the job's summary, and its text is not Markdown", async () => {
  const file = join(mkdtempSync(join(tmpdir(), "summary-")), "summary.md");
  vi.stubEnv("GITHUB_STEP_SUMMARY", file);
  await using restante = await Restante.connect();
  const inbox = await restante.createInbox({ label: "sign up › [it](x) *works*" });
  await expect(inbox.waitForMessage({ subject: "````", timeout: 0 })).rejects.toBeInstanceOf(WaitTimeoutError);
  const summary = readFileSync(file, "utf8");
  expect(summary).toContain("### No mail: sign up › &#91;it&#93;(x) &#42;works&#42;\n");
  expect(summary).toContain("Nothing has connected over SMTP");
  expect(summary.match(/````/g)).toHaveLength(2);
});

test("a wait that is still open when the client is closed says why no message arrived", async () => {
  const printed: string[] = [];
  vi.spyOn(process.stderr, "write").mockImplementation((text) => printed.push(String(text)) > 0);
  const restante = await Restante.connect();
  const inbox = await restante.createInbox();
  const open = inbox.waitForMessage({ subject: "confirm" }).catch((error: unknown) => error);
  const begin = performance.now();
  await restante.close();
  expect(String(await open)).toContain("The client was closed");
  expect(performance.now() - begin).toBeLessThan(5_000);
  expect(printed.join("")).toMatch(
    /the client was closed, and a wait was still open:\nNo message for \S+ .* with subject "confirm"\.\nNothing has/,
  );
});

test("a client without open waits prints nothing", async () => {
  const write = vi.spyOn(process.stderr, "write");
  await (await Restante.connect()).close();
  expect(write).not.toHaveBeenCalled();
});
