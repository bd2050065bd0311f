/**
 * Commands for Cypress. Import this file in the support file: `import "restante/cypress/commands"`.
 * `setupRestante` of `restante/cypress` adds the tasks that they need.
 * @packageDocumentation
 */

import type { TextMatch } from "../../match.js";
import type { Fault, FaultState } from "../../types.js";
import { send, type CypressFilters, type CypressInbox, type CypressLinkMatch, type CypressMessage } from "../wire.js";

declare global {
  // Cypress declares its commands in this namespace, and so do plugins.
  // eslint-disable-next-line @typescript-eslint/no-namespace
  namespace Cypress {
    /** The commands. */
    // The parameter has the name and the default that Cypress gives it; otherwise the declarations would not merge.
    // eslint-disable-next-line @typescript-eslint/no-explicit-any, @typescript-eslint/no-unused-vars
    interface Chainable<Subject = any> {
      /** Creates an inbox for this test. */
      inbox(): Chainable<CypressInbox>;
      /** The inbox with an address that the application already has, such as that of a seeded user. */
      inboxFor(address: string): Chainable<CypressInbox>;
      /** Waits for the next message that matches. If none arrives, the error says why. */
      waitForMessage(inbox: CypressInbox, filters?: CypressFilters): Chainable<CypressMessage>;
      /** The only code of a message, or the only one that matches. */
      code(message: CypressMessage, options?: { matching?: TextMatch }): Chainable<string>;
      /** The only link of a message, or the only one that matches. */
      link(message: CypressMessage, match?: CypressLinkMatch): Chainable<string>;
      /** Replaces the faults of an inbox, which the server injects when the application sends to it. */
      setFaults(inbox: CypressInbox, faults: readonly Fault[]): Chainable<FaultState[]>;
    }
  }
}

/** What a task may take in addition to a wait, in milliseconds. */
const BESIDE_WAIT = 10_000;

/** An entry in Cypress's log. */
interface Entry {
  set(options: { message: string }): unknown;
  end(): unknown;
}

/** What is used of Cypress. */
interface Runner {
  Commands: { add: (name: string, run: (...parameters: never[]) => unknown) => void };
  log(options: { name: string; message: string; autoEnd: boolean; consoleProps: () => object }): Entry;
  currentTest?: { titlePath: string[] };
}

/** What is used of `cy`. */
interface Chain {
  task(name: string, argument: unknown, options: { log: boolean; timeout?: number }): Chain;
  then(use: (outcome: { value?: unknown; error?: string }) => unknown): unknown;
}

const { Cypress } = globalThis as { Cypress?: Runner };
if (Cypress !== undefined) register(Cypress);

function register(runner: Runner): void {
  const { Commands } = runner;
  const label = (): string => runner.currentTest?.titlePath.join(" › ") ?? "";
  Commands.add("inbox", () => {
    return call(
      runner,
      "inbox",
      { label: label() },
      { title: "inbox", result: (inbox) => (inbox as CypressInbox).address },
    );
  });
  Commands.add("inboxFor", (address: string) =>
    call(runner, "inboxFor", { address, label: label() }, { title: "inboxFor", about: address }),
  );
  Commands.add("waitForMessage", (inbox: CypressInbox, filters: CypressFilters = {}) => {
    const { timeout } = filters;
    return call(
      runner,
      "wait",
      { inbox: inbox.id, filters },
      {
        title: "waitForMessage",
        about: inbox.address,
        result: (message) => (message as CypressMessage).subject,
        ...(timeout === undefined ? {} : { timeout: timeout + BESIDE_WAIT }),
      },
    );
  });
  Commands.add("code", ({ id, subject }: CypressMessage, { matching }: { matching?: TextMatch } = {}) =>
    call(runner, "code", { message: id, matching }, { title: "code", about: subject, result: String }),
  );
  Commands.add("link", ({ id, subject }: CypressMessage, match?: CypressLinkMatch) =>
    call(runner, "link", { message: id, match }, { title: "link", about: subject, result: String }),
  );
  Commands.add("setFaults", ({ id, address }: CypressInbox, faults: readonly Fault[]) => {
    const about = `${address}: ${faults.map((fault) => fault.do).join(", ") || "none"}`;
    return call(runner, "setFaults", { inbox: id, faults }, { title: "setFaults", about });
  });
}

/** How a command appears in the log. */
interface Shown {
  title: string;
  /** What it is about, until the result is there. */
  about?: string;
  /** The result as a text. */
  result?: (value: unknown) => string;
  timeout?: number;
}

/** Runs a task in Node. An error of the client fails the test with its text, which explains a missing message. */
function call(runner: Runner, task: string, request: object, shown: Shown): unknown {
  const { title, about = "", result, timeout } = shown;
  const properties: Record<string, unknown> = { ...request };
  const entry = runner.log({ name: title, message: about, autoEnd: false, consoleProps: () => properties });
  const { cy } = globalThis as unknown as { cy: Chain };
  const options = { log: false, ...(timeout === undefined ? {} : { timeout }) };
  return cy.task(`restante:${task}`, send(request), options).then(({ value, error }) => {
    if (error !== undefined) {
      properties.Error = error;
      throw new Error(error);
    }
    properties.Yielded = value;
    if (result !== undefined) entry.set({ message: [about, result(value)].filter((text) => text !== "").join(" → ") });
    entry.end();
    return value;
  });
}
