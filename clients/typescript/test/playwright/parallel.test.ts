/** Many tests at once on one key with four places for waits. WORKERS and RUNS make it more than ./test does. */

import { join } from "node:path";

import { expect, test } from "vitest";

import { freePort } from "../port.js";
import { Run } from "./run.js";

const { RUNS = "1", WORKERS = "4", TESTS = "16" } = process.env;

test(`${TESTS} sign-ups with ${WORKERS} workers pass, ${RUNS} times`, { timeout: 3_600_000 }, async () => {
  const late: number[] = [];
  for (let number = 1; number <= Number(RUNS); number += 1) {
    const env = { PORT: await freePort(), WORKERS, TESTS };
    const { tests, output } = await new Run(join(__dirname, "parallel"), [], env).report();
    expect(
      tests.filter(({ status }) => status !== "passed"),
      output,
    ).toEqual([]);
    expect(tests).toHaveLength(Number(TESTS));
    const annotations = tests.flatMap((reported) => reported.annotations);
    const times = annotations.filter(({ type }) => type === "late").map(({ description }) => Number(description));
    console.log(`run ${number}: ${figures(times)}`);
    late.push(...times);
  }
  console.log(`all: ${figures(late)}`);
});

/** From the time that the server received a mail to the return of its wait. */
function figures(times: number[]): string {
  const sorted = times.toSorted((one, other) => one - other);
  const at = (share: number) => sorted[Math.ceil(share * sorted.length) - 1];
  const [p50, p95, max] = [at(0.5), at(0.95), at(1)];
  return `${sorted.length} waits, mail received to wait returned: p50 ${p50} ms, p95 ${p95} ms, max ${max} ms`;
}
