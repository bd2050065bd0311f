/** One server for a run, and none after it, however the run ends. */

import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { expect, test, vi } from "vitest";

import { CREATED_INBOX, scripted } from "../scripted.js";
import { Run } from "./run.js";

const FOLDER = join(__dirname, "lifecycle");
const POLL = { timeout: 300_000, interval: 50 };

class NotedRun extends Run {
  readonly #notes: string;

  constructor(tag: string, env: NodeJS.ProcessEnv) {
    const notes = join(mkdtempSync(join(tmpdir(), "restante-test-")), "notes");
    super(FOLDER, ["--grep", tag], { ...env, NOTES: notes });
    this.#notes = notes;
  }

  /** The addresses of the servers that tests had. */
  get urls(): string[] {
    try {
      // The file is empty for a moment before its first line is written.
      return readFileSync(this.#notes, "utf8").split("\n").filter(Boolean);
    } catch {
      return [];
    }
  }

  /** The server of a test that runs. */
  async url(): Promise<string> {
    await vi.waitUntil(() => this.urls.length > 0, POLL);
    return this.urls[0] ?? "";
  }
}

async function isUp(url: string): Promise<boolean> {
  return fetch(`${url}/health`).then(
    ({ ok }) => ok,
    () => false,
  );
}

async function untilDown(url: string): Promise<void> {
  await vi.waitUntil(async () => !(await isUp(url)), POLL);
}

for (const [by, env] of [
  ["the configuration", { FOR_RUN: "1" }],
  ["the first worker", {}],
] as const) {
  test.concurrent(`started by ${by}, the server outlives a worker that crashes, and ends with the run`, async () => {
    const run = new NotedRun("@crash", env);
    const { tests, output } = await run.report();
    expect(
      tests.map(({ status }) => status),
      output,
    ).toEqual(["failed", "passed"]);
    const [first = "", second] = run.urls;
    expect(second).toBe(first);
    await untilDown(first);
  });

  for (const signal of ["SIGINT", "SIGKILL"] as const) {
    test.concurrent(`started by ${by}, the server ends after ${signal} to the runner`, async () => {
      const run = new NotedRun("@wait", env);
      const url = await run.url();
      expect(await isUp(url), url).toBe(true);
      run.child.kill(signal);
      await run.ended();
      await untilDown(url);
    });
  }
}

test.concurrent("a run passes although its inboxes cannot be deleted", async () => {
  const refused = { status: 401, body: { error: "unauthorized" } };
  const { url, received } = await scripted(CREATED_INBOX, CREATED_INBOX, refused);
  const run = new Run(FOLDER, ["--grep", "@stay"], { RESTANTE_URL: url, RESTANTE_API_KEY: "rst_live_a" });
  expect(await run.report()).toMatchObject({ code: 0, tests: [{ status: "passed", errors: "" }] });
  expect(received.filter(({ method }) => method === "DELETE")).toHaveLength(2);
});
