/** An inbox: waiting for its messages, sending from it, and explaining a missing message. */

import {
  blameCaller,
  callSite,
  NotFoundError,
  RestanteError,
  UnexpectedMessageError,
  type WaitTimeoutError,
} from "./errors.js";
import {
  afterId,
  describeFilters,
  missed,
  missedTexts,
  serverQuery,
  type Filters,
  type WaitOptions,
} from "./filters.js";
import type { Http, Request } from "./http.js";
import { Message } from "./message.js";
import { dashboardLine, dashboardUrl, explain, timeoutError, type FailedWait } from "./timeout.js";
import { whileOpen } from "./open.js";
import { now } from "./runtime.js";
import { milliseconds } from "./settings.js";
import type {
  Explanation,
  Fault,
  FaultState,
  InboxEvent,
  InboxFields,
  MessageFields,
  OutgoingMessage,
  Sent,
} from "./types.js";
import { nextMessage, type Notes } from "./wait.js";

/**
 * The integration of a test runner with waits.
 * @internal
 */
export interface WaitHooks {
  /** The time that a wait may take, at most `timeout`. */
  limit(timeout: number): number;
  /** Runs the wait that was called at `site`, a stack. */
  run<T>(title: string, site: { stack?: string }, wait: () => Promise<T>): Promise<T>;
  /** Notes a wait that timed out. */
  failed(inbox: Pick<Inbox, "address" | "label">, error: WaitTimeoutError): void;
}

/**
 * The state that the objects of one client share.
 * @internal
 */
export interface Connection {
  http: Http;
  /** How long a wait lasts by default, in milliseconds. */
  timeout: number;
  hooks: WaitHooks;
}

/** An inbox with its own address. Use one for each test. */
export class Inbox implements AsyncDisposable {
  readonly id: string;
  /** The address to which the application sends its mail. */
  readonly address: string;
  /** The label with which this object was created. */
  readonly label: string | undefined;
  readonly kind: "temporary" | "permanent";
  readonly createdAt: Date;
  /** When the inbox expires with its messages; null for a permanent one. */
  readonly expiresAt: Date | null;
  readonly #connection: Connection;
  /** The last message that was returned, and all returned ones, for waits that run at the same time. */
  #cursor: string | undefined;
  readonly #returned = new Set<string>();

  /**
   * `after`: the id of the message after which the first wait starts.
   * @internal
   */
  constructor(
    connection: Connection,
    fields: InboxFields,
    options: { label?: string | undefined; after?: string | undefined } = {},
  ) {
    this.#connection = connection;
    this.#cursor = options.after;
    this.label = options.label;
    this.id = fields.id;
    this.address = fields.address;
    this.kind = fields.kind;
    this.createdAt = new Date(fields.createdAt);
    this.expiresAt = fields.expiresAt === null ? null : new Date(fields.expiresAt);
  }

  /** The page of this inbox in the dashboard. */
  get dashboardUrl(): string {
    return dashboardUrl(this.#connection.http.url, this.id);
  }

  /**
   * The next message that matches the filters: the oldest that no earlier wait on this object has returned and that is
   * later than the last one returned. The message may arrive before or after the wait starts.
   * @throws {@link WaitTimeoutError} with the reason if none arrives in time.
   */
  async waitForMessage(options: WaitOptions = {}): Promise<Message> {
    const [message] = await this.#wait(1, options, callSite(this.waitForMessage));
    return message as Message;
  }

  /**
   * The next messages that match the filters, oldest first.
   * @throws {@link WaitTimeoutError} with the reason if fewer arrive in time. The next wait starts where this did.
   */
  waitForMessages(count: number, options: WaitOptions = {}): Promise<Message[]> {
    return this.#wait(count, options, callSite(this.waitForMessages));
  }

  /**
   * Waits for `within` milliseconds and fails if a message that matches the filters arrives, or is already there and
   * was not returned by a wait.
   * @throws {@link UnexpectedMessageError} with the message.
   */
  async expectNoMessage(options: { within: number } & Filters): Promise<void> {
    const { within, ...filters } = options;
    const site = callSite(this.expectNoMessage);
    await this.#run(`expect no mail to ${this.address}`, site, async () => {
      const begin = this.#begin(filters);
      const take = (found: Message) => !begin.returned.has(found.id);
      const message = await this.#next({
        filters,
        after: begin.after,
        deadline: now() + milliseconds(within, "within"),
        take,
        notes: {},
        expectsNone: true,
      });
      if (message === undefined) return;
      const story = dashboardLine(this.dashboardUrl, this.label);
      throw new UnexpectedMessageError(`${unexpected(this.address, filters, message)}\n${story}`, message);
    });
  }

  /** The current messages that match the filters, newest first, including those that waits have returned. */
  async messages(filters: Filters = {}): Promise<Message[]> {
    const { http } = this.#connection;
    const messages = await listed(http, this.id, serverQuery(filters, afterId(filters.after)));
    const chosen = messages.filter((fields) => missedTexts(fields, filters).length === 0);
    const read = await inGroups(chosen, (fields) => Message.read(http, fields));
    return read.filter((message) => missed(message, filters).length === 0);
  }

  /**
   * The newest messages, newest first.
   *
   * @internal
   */
  async newest(count: number): Promise<Message[]> {
    const { http } = this.#connection;
    return inGroups(await listed(http, this.id, { limit: String(count) }), (fields) => Message.read(http, fields));
  }

  /** Sends a message from this inbox. */
  send({ inReplyTo, ...message }: OutgoingMessage): Promise<Sent> {
    const body = inReplyTo === undefined ? message : { ...message, in_reply_to: afterId(inReplyTo) };
    return this.#connection.http.json({ method: "POST", path: `${this.#path}/messages`, body }, "id");
  }

  /** Replaces the faults of this inbox, which the server injects when the application sends to it. */
  async setFaults(faults: readonly Fault[]): Promise<FaultState[]> {
    const request = { method: "PUT", path: `${this.#path}/faults`, body: { faults } } as const;
    return (await this.#connection.http.json<{ faults: FaultState[] }>(request, "faults")).faults;
  }

  /** The faults of this inbox, and when each was used. */
  async faults(): Promise<FaultState[]> {
    const request = { method: "GET", path: `${this.#path}/faults` } as const;
    return (await this.#connection.http.json<{ faults: FaultState[] }>(request, "faults")).faults;
  }

  /** The server's explanation why no matching message arrived. Regular expressions and `where` are ignored. */
  explain(filters: Filters = {}): Promise<Explanation> {
    return explain(this.#connection.http, this.id, filters, afterId(filters.after));
  }

  /** What happened to the inbox, oldest first: waits, SMTP sessions with their commands, messages, and more. */
  async events(): Promise<InboxEvent[]> {
    const request = { method: "GET", path: `${this.#path}/events` } as const;
    return (await this.#connection.http.json<{ events: InboxEvent[] }>(request, "events")).events;
  }

  /** Deletes the inbox and its messages. */
  async delete(): Promise<void> {
    await this.#connection.http.bytes({ method: "DELETE", path: this.#path });
  }

  /** Deletes the inbox at the end of an `await using` block, if it still exists. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.delete().catch((error: unknown) => {
      if (!(error instanceof NotFoundError)) throw error;
    });
  }

  get #path(): string {
    return `/inboxes/${encodeURIComponent(this.id)}`;
  }

  #wait(count: number, options: WaitOptions, site: { stack?: string }): Promise<Message[]> {
    const described = describeFilters(options);
    const title = `wait for mail to ${this.address}${described && ` with ${described}`}`;
    return this.#run(title, site, () => this.#collect(count, options));
  }

  async #collect(count: number, options: WaitOptions): Promise<Message[]> {
    const { timeout: asked = this.#connection.timeout, ...filters } = options;
    const waited = this.#connection.hooks.limit(milliseconds(asked, "timeout"));
    const deadline = now() + waited;
    const begin = this.#begin(filters);
    const found: Message[] = [];
    const notes: Notes = {};
    const started = now();
    const failed = (until: number): FailedWait => {
      const numbers = { waited: until, asked, wanted: count, found: found.map(({ id }) => id) };
      return { ...begin, ...numbers, inbox: this, filters, notes };
    };
    const state = async () => {
      const soFar = now() - started;
      return (await timeoutError(this.#connection.http, { ...failed(soFar), asked: soFar })).message;
    };
    await whileOpen(this.#connection, { state }, async () => {
      try {
        while (found.length < count) {
          const after = found.at(-1)?.id ?? begin.after;
          const take = (candidate: Message) => claim(begin, candidate);
          const message = await this.#next({ filters, after, deadline, take, notes });
          if (message === undefined) break;
          found.push(message);
        }
      } finally {
        // A failed wait has no effect on later waits.
        if (found.length < count) found.forEach(({ id }) => begin.returned.delete(id));
      }
    });
    if (found.length < count) {
      const error = await timeoutError(this.#connection.http, failed(waited));
      this.#connection.hooks.failed(this, error);
      throw error;
    }
    if (filters.after !== undefined) {
      // Waits that are open have this set, too.
      if (!filters.after) this.#returned.clear();
      begin.returned.forEach((id) => this.#returned.add(id));
    }
    this.#cursor = found.at(-1)?.id ?? this.#cursor;
    return found;
  }

  /** The start of a wait, and the messages that it skips. A cursor of the caller is used unchanged. */
  #begin({ after }: Filters): { after: string | undefined; returned: Set<string> } {
    return after === undefined
      ? { after: this.#cursor, returned: this.#returned }
      : { after: afterId(after), returned: new Set() };
  }

  #next(wait: Omit<Parameters<typeof nextMessage>[1], "inboxId">): Promise<Message | undefined> {
    return nextMessage(this.#connection.http, { ...wait, inboxId: this.id });
  }

  /** Runs a wait with the hooks of the test runner. Its error has the line of the test, and how the inbox ended. */
  #run<T>(title: string, site: { stack?: string }, wait: () => Promise<T>): Promise<T> {
    return this.#connection.hooks.run(title, site, async () => {
      try {
        return await wait();
      } catch (error) {
        throw error instanceof RestanteError ? blameCaller(await this.#withEnd(error), site) : error;
      }
    });
  }

  async #withEnd(error: RestanteError): Promise<RestanteError> {
    if (!(error instanceof NotFoundError)) return error;
    const explanation = await this.explain().catch(() => undefined);
    return explanation?.ended ? new NotFoundError(explanation.summary, { status: 404 }) : error;
  }
}

/** How many messages of a list are read at once. */
const GROUP = 16;

/**
 * The messages of an inbox that the query selects, newest first.
 *
 * @internal
 */
export async function listed(
  http: Http,
  inbox: string,
  query: NonNullable<Request["query"]>,
): Promise<MessageFields[]> {
  const request = { method: "GET", path: `/inboxes/${encodeURIComponent(inbox)}/messages`, query } as const;
  return (await http.json<{ messages: MessageFields[] }>(request, "messages")).messages;
}

async function inGroups<T, R>(all: readonly T[], read: (one: T) => Promise<R>): Promise<R[]> {
  const done: R[] = [];
  for (let start = 0; start < all.length; start += GROUP) {
    done.push(...(await Promise.all(all.slice(start, start + GROUP).map(read))));
  }
  return done;
}

function unexpected(address: string, filters: Filters, message: Message): string {
  const described = describeFilters(filters);
  const mail = `${JSON.stringify(message.subject)} from ${message.from}`;
  return `No message${described && ` with ${described}`} was expected for ${address}, but this arrived: ${mail}.`;
}

/** Claims a message for one wait; false if another wait has claimed it. */
function claim({ returned }: { returned: Set<string> }, message: Message): boolean {
  if (returned.has(message.id)) return false;
  returned.add(message.id);
  return true;
}
