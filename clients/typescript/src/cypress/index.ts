/**
 * Inboxes for Cypress: a server for the run, and the tasks that the commands of `restante/cypress/commands` use.
 * @packageDocumentation
 */

import { RestanteError } from "../errors.js";
import type { Inbox } from "../inbox.js";
import { Restante } from "../restante.js";
import { serverForRun } from "../server.js";
import { waitTimeout } from "../settings.js";
import { receive, type Requests, type Wire } from "./wire.js";

export type { CypressFilters, CypressInbox, CypressLinkMatch, CypressMessage } from "./wire.js";

/** What a task may take in addition to a wait, in milliseconds: the explanation, and a busy machine. */
const BESIDE_WAIT = 10_000;

/** The part of Cypress's `on` that is used. */
export type OnTask = (event: "task", tasks: Record<string, (argument: unknown) => Promise<unknown>>) => void;

/** The part of Cypress's configuration that is used. */
export interface TaskConfig {
  /** How long a task may take, in milliseconds. */
  taskTimeout: number;
}

/**
 * Starts a server for the run, unless `RESTANTE_URL` is set, and adds the tasks of the commands. It stops when Cypress
 * ends. Use it as `setupNodeEvents`, or call it there and return what it returns.
 */
export async function setupRestante<Config extends TaskConfig>(on: OnTask, config: Config): Promise<Config> {
  serverForRun();
  const tasks = new Tasks(await Restante.connect());
  on("task", tasks.all());
  config.taskTimeout = Math.max(config.taskTimeout, waitTimeout(undefined) + BESIDE_WAIT);
  return config;
}

/** The tasks, which run in Node. */
class Tasks {
  readonly #restante: Restante;
  /** A wait continues after the message that the last one returned, so the objects are kept. */
  readonly #inboxes = new Map<string, Inbox>();

  constructor(restante: Restante) {
    this.#restante = restante;
  }

  all(): Record<string, (argument: unknown) => Promise<unknown>> {
    return {
      ...task("inbox", async ({ label }) => this.#keep(await this.#restante.createInbox({ label }))),
      ...task("inboxFor", async ({ address, label }) => this.#keep(await this.#restante.inboxFor(address, { label }))),
      ...task("wait", async ({ inbox, filters }) => {
        const message = await (await this.#inbox(inbox)).waitForMessage(filters);
        const { id, inboxId, from, to, subject, text, html, links, otp, receivedAt } = message;
        return { id, inboxId, from, to, subject, text, html, links, otp, receivedAt: receivedAt.toISOString() };
      }),
      ...task("code", async ({ message, matching }) =>
        (await this.#restante.message(message)).code(matching === undefined ? {} : { matching }),
      ),
      ...task("link", async ({ message, match }) => (await this.#restante.message(message)).link(match)),
      ...task("setFaults", async ({ inbox, faults }) => (await this.#inbox(inbox)).setFaults(faults)),
    };
  }

  #keep(inbox: Inbox): { id: string; address: string } {
    this.#inboxes.set(inbox.id, inbox);
    return { id: inbox.id, address: inbox.address };
  }

  async #inbox(id: string): Promise<Inbox> {
    const known = this.#inboxes.get(id);
    if (known !== undefined) return known;
    const inbox = await this.#restante.inbox(id);
    this.#keep(inbox);
    return inbox;
  }
}

/** A task that answers with its result, or with the text of an error of the client. */
function task<Name extends keyof Requests>(
  name: Name,
  run: (request: Requests[Name]) => Promise<unknown>,
): Record<string, (argument: unknown) => Promise<unknown>> {
  const answer = async (argument: unknown) => {
    try {
      return { value: await run(receive(argument as Wire) as Requests[Name]) };
    } catch (error) {
      if (error instanceof RestanteError) return { error: error.message };
      throw error;
    }
  };
  return { [`restante:${name}`]: answer };
}
