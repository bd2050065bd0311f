/** Playwright's part of a wait: a step in the trace, an end before the test's timeout, and its error for the report. */

import { fileURLToPath } from "node:url";

import { test, type Location, type TestInfo } from "@playwright/test";

import type { WaitTimeoutError } from "../errors.js";
import type { Inbox, WaitHooks } from "../inbox.js";
import { now } from "../runtime.js";
import { noteFailedWait } from "../summary.js";
import { withinTest } from "../wait.js";

/** What a wait leaves at least of its test's time for the explanation and the report, in milliseconds. */
const RESERVE = 1_500;

const starts = new WeakMap<TestInfo, number>();
const timeouts = new WeakMap<TestInfo, TimedOutWait[]>();

/** A wait that timed out. */
interface TimedOutWait {
  inbox: Pick<Inbox, "address" | "label">;
  error: WaitTimeoutError;
}

/** Records when a test started. */
export function startClock(testInfo: TestInfo): void {
  starts.set(testInfo, now());
}

/** The waits of a test that timed out. */
export function timedOutWaits(testInfo: TestInfo): readonly TimedOutWait[] {
  return timeouts.get(testInfo) ?? [];
}

/** Adds the waits of a failed test that timed out to the job's summary. A test that passed expected them. */
export async function noteFailedWaits(testInfo: TestInfo): Promise<void> {
  for (const { inbox, error } of timedOutWaits(testInfo)) noteFailedWait(inbox, error, await error.explainNow());
}

/** Makes each wait a step of the running test. */
export const runnerHooks: WaitHooks = {
  limit(timeout) {
    const testInfo = currentTest();
    const start = testInfo && starts.get(testInfo);
    if (testInfo === undefined || start === undefined || testInfo.timeout === 0) return timeout;
    const left = Math.max(0, testInfo.timeout - (now() - start));
    return withinTest(timeout, { limit: testInfo.timeout, left }, RESERVE);
  },

  run(title, site, wait) {
    const testInfo = currentTest();
    if (testInfo === undefined) return wait();
    const location = locationOf(site.stack);
    return test.step(title, wait, location ? { location } : {});
  },

  failed(inbox, error) {
    const testInfo = currentTest();
    if (testInfo === undefined) noteFailedWait(inbox, error);
    else timeouts.set(testInfo, [...timedOutWaits(testInfo), { inbox, error }]);
  },
};

/** `at name (file:line:column)` or `at file:line:column`. */
const FRAME = /^ +at (?:.*\(|async )?(?<file>.+?):(?<line>\d+):(?<column>\d+)\)?$/m;

/** The file and line of the first frame of a stack. */
function locationOf(stack = ""): Location | undefined {
  const { file, line, column } = FRAME.exec(stack)?.groups ?? {};
  if (file === undefined) return undefined;
  const path = file.startsWith("file:") ? fileURLToPath(file) : file;
  return { file: path, line: Number(line), column: Number(column) };
}

/** The running test; undefined during the setup of a worker. */
function currentTest(): TestInfo | undefined {
  try {
    return test.info();
  } catch {
    return undefined;
  }
}
