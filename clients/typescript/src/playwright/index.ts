/**
 * Fixtures and matchers for Playwright. `test` has an inbox for each test, and a failed test's report has its mail.
 * @packageDocumentation
 */

import { test as base, type TestInfo } from "@playwright/test";

import { RestanteError } from "../errors.js";
import type { Inbox } from "../inbox.js";
import { Restante } from "../restante.js";
import { serverOfProcess } from "../server.js";
import { given, variable } from "../settings.js";
import { attachMail, type PictureBrowser } from "./report.js";
import { noteFailedWaits, runnerHooks, startClock } from "./runner.js";

export { expect, matchers } from "./matchers.js";

/** Maximum number of inboxes of passed tests that a worker keeps for later tests. */
const MAX_KEPT_INBOXES = 100;

/** The process id of the runner, the parent of all workers. */
const RUNNER = process.ppid;

/**
 * The runner, to which the server belongs. No server is started for a run that has ended: then this worker has another
 * parent (not on Windows), and is disconnected.
 */
function runnerPid(): number {
  if (process.ppid === RUNNER && process.connected) return RUNNER;
  throw new RestanteError("The test run has ended.");
}

/** Deletes inboxes. If it fails, they expire: what has passed stays passed. */
async function deleteAll(inboxes: readonly Inbox[]): Promise<void> {
  await Promise.allSettled(inboxes.map((inbox) => inbox.delete()));
}

/** Options of a project, in `use` of playwright.config.ts. */
export interface RestanteWorkerOptions {
  /** The server's address; by default `RESTANTE_URL`, else a server is started for the run. */
  restanteUrl: string | undefined;
  /** The key of a server that is not started for the run; by default `RESTANTE_API_KEY`. */
  restanteApiKey: string | undefined;
  /** How long a wait lasts, in milliseconds. It always ends before the timeout of the test. */
  restanteTimeout: number | undefined;
}

/** Options of a project or of some tests, in `use`. */
export interface RestanteTestOptions {
  /** When the mail of a test's inboxes is attached to the report. */
  restanteAttach: "on-failure" | "always" | "off";
}

/** The fixtures of each worker. */
export interface RestanteWorkerFixtures {
  /** The client. Its server is the same for all workers of the run. */
  restante: Restante;
  /**
   * An inbox for all tests of this worker, for `test.describe.serial`: a later test reads the mail that an earlier one
   * caused. Each wait goes on after the last message that was returned.
   */
  workerInbox: Inbox;
}

/** The fixtures of each test. */
export interface RestanteTestFixtures {
  /** An inbox for this test. If the test has passed, it is deleted when the worker ends. */
  inbox: Inbox;
  /** Creates additional inboxes, which are handled like `inbox`. */
  newInbox: () => Promise<Inbox>;
  /**
   * The inbox with an address that the application already has (see {@link Restante.inboxFor}). It is not deleted,
   * because other tests may use the same address.
   */
  inboxFor: (address: string) => Promise<Inbox>;
}

/** The inboxes of a test. */
interface TestInboxes {
  all: Inbox[];
  /** Those that are deleted when the test has passed. */
  own: Inbox[];
}

interface TestInternals {
  _restanteInboxes: TestInboxes;
  _restanteClock: undefined;
}

interface WorkerInternals {
  _restanteBrowser: PictureBrowser;
  _restanteShared: { inboxes: Inbox[]; hasFailed: boolean };
  _restantePassed: Inbox[];
}

/** Playwright's `test` with inboxes. */
export const test = base.extend<
  RestanteTestFixtures & RestanteTestOptions & TestInternals,
  RestanteWorkerFixtures & RestanteWorkerOptions & WorkerInternals
>({
  restanteUrl: [undefined, { scope: "worker", option: true }],
  restanteApiKey: [undefined, { scope: "worker", option: true }],
  restanteTimeout: [undefined, { scope: "worker", option: true }],
  restanteAttach: ["on-failure", { option: true }],

  restante: [
    async ({ restanteUrl, restanteApiKey, restanteTimeout }, use) => {
      const isNamed = given(restanteUrl) !== undefined || variable("RESTANTE_URL") !== undefined;
      // The server of the run has its own key.
      const server = isNamed ? { url: restanteUrl, apiKey: restanteApiKey } : serverOfProcess(runnerPid());
      const restante = await Restante.connectWith({ ...server, timeout: restanteTimeout }, runnerHooks);
      await use(restante);
      await restante.close();
    },
    { scope: "worker" },
  ],

  _restanteShared: [
    async ({}, use) => {
      await use({ inboxes: [], hasFailed: false });
    },
    { scope: "worker", box: true },
  ],

  _restantePassed: [
    async ({ restante: _restante }, use) => {
      const inboxes: Inbox[] = [];
      await use(inboxes);
      await deleteAll(inboxes);
    },
    { scope: "worker", box: true },
  ],

  workerInbox: [
    async ({ restante, _restanteShared }, use, { workerIndex }) => {
      const inbox = await restante.createInbox({ label: `worker ${workerIndex}` });
      _restanteShared.inboxes.push(inbox);
      await use(inbox);
      if (!_restanteShared.hasFailed) await deleteAll([inbox]);
    },
    { scope: "worker" },
  ],

  _restanteBrowser: [
    async ({ browserName, launchOptions, headless, channel, connectOptions }, use) => {
      const launch = { ...launchOptions, ...(channel === undefined ? {} : { channel }), headless };
      await use({ browserName, launch, endpoint: connectOptions?.wsEndpoint });
    },
    { scope: "worker", box: true },
  ],

  _restanteInboxes: async ({ restanteAttach, _restanteBrowser, _restantePassed }, use, testInfo) => {
    const inboxes: TestInboxes = { all: [], own: [] };
    await use(inboxes);
    const hasPassed = testInfo.status === testInfo.expectedStatus;
    if (restanteAttach === "always" || (restanteAttach === "on-failure" && !hasPassed)) {
      await attachMail(testInfo, inboxes.all, _restanteBrowser);
    }
    if (!hasPassed) return;
    // Later tests of `test.describe.serial` may use them, so they are deleted when the worker ends.
    _restantePassed.push(...inboxes.own);
    await deleteAll(_restantePassed.splice(0, _restantePassed.length - MAX_KEPT_INBOXES));
  },

  newInbox: async ({ restante, _restanteInboxes: { all, own } }, use, testInfo) => {
    const label = titleOf(testInfo);
    await use(async () => {
      const inbox = await restante.createInbox({ label });
      all.push(inbox);
      own.push(inbox);
      return inbox;
    });
  },

  inboxFor: async ({ restante, _restanteInboxes: { all } }, use, testInfo) => {
    const label = titleOf(testInfo);
    await use(async (address) => {
      const inbox = await restante.inboxFor(address, { label });
      all.push(inbox);
      return inbox;
    });
  },

  inbox: async ({ newInbox }, use) => {
    await use(await newInbox());
  },

  _restanteClock: [
    async ({ _restanteShared, _restanteBrowser, restanteAttach }, use, testInfo) => {
      startClock(testInfo);
      await use(undefined);
      const hasPassed = testInfo.status === testInfo.expectedStatus;
      _restanteShared.hasFailed ||= !hasPassed;
      if (!hasPassed) await noteFailedWaits(testInfo);
      if (_restanteShared.inboxes.length > 0 && !hasPassed && restanteAttach !== "off") {
        await attachMail(testInfo, _restanteShared.inboxes, _restanteBrowser);
      }
    },
    { auto: true, box: true },
  ],
});

/** The label of the inboxes of a test. */
function titleOf(test: TestInfo): string {
  return test.titlePath.slice(1).join(" › ");
}
