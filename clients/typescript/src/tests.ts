/**
 * The time that Jest and Vitest leave to a wait. Both end a test after 5 s by default, and would hide why no message
 * arrived. They say when a test ends only in their state, so if that is missing, a wait is not shortened.
 */

import type { WaitHooks } from "./inbox.js";
import { printOpen } from "./open.js";
import { now, wallClock } from "./runtime.js";
import { noteFailedWait } from "./summary.js";
import { withinTest } from "./wait.js";

/** What a wait leaves at least of its test's time for the explanation, in milliseconds. */
const RESERVE = 1_000;

/** A test that is running, in the state of Jest or Vitest. */
interface RunningTest {
  timeout?: number | null;
  concurrent?: boolean;
}

/** When the function of a test started, on the clock of `now()`. */
const starts = new WeakMap<RunningTest, number>();

interface JestState {
  currentlyRunningTest: RunningTest | null;
  testTimeout: number;
}

type JestHandler = (event: { name: string; test?: RunningTest }) => void;

/** Follows Jest's events from now on. Its hooks have their own time limits, so a test starts with its function. */
export function watchRunner(): void {
  const handlers: unknown = Reflect.get(globalThis, Symbol.for("EVENT_HANDLERS"));
  if (!Array.isArray(handlers) || handlers.includes(noteJest)) return;
  handlers.push(noteJest);
}

const noteJest: JestHandler = ({ name, test }) => {
  // Hooks, and tests that run at the same time, have limits that a wait does not know.
  if (name === "hook_failure") void printOpen("a hook has failed");
  if (name === "test_fn_failure") void printOpen("a test has failed");
  if (test === undefined) return;
  if (name === "test_fn_start") starts.set(test, now());
  if (name === "test_fn_success" || name === "test_fn_failure") starts.delete(test);
};

/** Shortens waits so that they end before the test. */
export const testHooks: WaitHooks = {
  limit(timeout) {
    const time = timeOfTest();
    return time === undefined ? timeout : withinTest(timeout, time, RESERVE);
  },
  run: (_title, _site, wait) => wait(),
  failed: noteFailedWait,
};

/** The limit of the running test and what is left of it, in milliseconds; undefined if it is unknown or unlimited. */
function timeOfTest(): { limit: number; left: number } | undefined {
  const running = ofJest() ?? ofVitest();
  if (running === undefined) return undefined;
  const { test, timeout } = running;
  const start = starts.get(test);
  // Tests that run at the same time cannot be told apart.
  if (start === undefined || test.concurrent === true || !(timeout > 0)) return undefined;
  return { limit: timeout, left: Math.max(0, timeout - (now() - start)) };
}

function ofJest(): { test: RunningTest; timeout: number } | undefined {
  const symbol = Object.getOwnPropertySymbols(globalThis).find(
    ({ description }) => description === "JEST_STATE_SYMBOL",
  );
  const state = symbol && (Reflect.get(globalThis, symbol) as JestState | undefined);
  const test = state?.currentlyRunningTest;
  return state && test ? { test, timeout: test.timeout ?? state.testTimeout } : undefined;
}

interface VitestTest extends RunningTest {
  type: string;
  result?: {
    state: string;
    startTime?: number;
    retryCount?: number;
    repeatCount?: number;
    hooks?: Record<string, string>;
  };
}

/** The attempt for which `starts` has the start of a test. */
const attempts = new WeakMap<RunningTest, string>();

function ofVitest(): { test: RunningTest; timeout: number } | undefined {
  const worker = Reflect.get(globalThis, "__vitest_worker__") as { current?: VitestTest } | undefined;
  const test = worker?.current;
  const result = test?.result;
  if (test?.type !== "test" || result?.state !== "run") return undefined;
  const hooks = Object.values(result.hooks ?? {});
  if (hooks.includes("run")) return undefined;
  const attempt = `${result.retryCount ?? 0} ${result.repeatCount ?? 0}`;
  if (attempts.get(test) !== attempt) {
    attempts.set(test, attempt);
    // The start of the test is that of its function only without hooks and at the first attempt. Otherwise the clock
    // starts with the first wait, because a wait that is too short could fail a test that passes.
    const isExact = attempt === "0 0" && hooks.length === 0 && result.startTime !== undefined;
    starts.set(test, isExact ? now() - (wallClock() - (result.startTime ?? 0)) : now());
  }
  return { test, timeout: test.timeout ?? 0 };
}
