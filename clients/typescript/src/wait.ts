/** Waits for the next message after a cursor until a deadline, despite connection errors and limits. */

import { missed, missedTexts, serverQuery, waitHeaders, type Filters } from "./filters.js";
import { isOurs, isSuccess, wordsOf, type Http, type Outcome, type Request } from "./http.js";
import { Message } from "./message.js";
import { now, randomName } from "./runtime.js";
import type { MessageFields } from "./types.js";

/** Maximum length of a wait that the server allows in one request. */
const MAX_REQUEST_MS = 120_000;
const NO_MATCH = "no matching message";

/** One wait. */
export interface Wait {
  inboxId: string;
  filters: Filters;
  /** Only messages later than this one. */
  after: string | undefined;
  /** When to stop, on the clock of `now()`. */
  deadline: number;
  /** Returns true to accept a message, or false to continue. */
  take: (message: Message) => boolean;
  notes: Notes;
  /** Whether no message is expected. */
  expectsNone?: boolean;
}

/** What a wait notes for its error, should it fail. */
export interface Notes {
  /** The name of the search for the latest message, the same in all of its requests. */
  name?: string;
  /** The page about it in the dashboard; undefined if the server has named none. */
  link?: string | undefined;
}

/** The part of a test's limit that a wait leaves for the explanation. */
const RESERVED_PART = 0.1;

/**
 * The time that a wait may take in a test, at most `timeout`. It leaves at least `reserve` for the explanation, but at
 * most half of what is left of the test's limit. All times are milliseconds.
 */
export function withinTest(timeout: number, test: { limit: number; left: number }, reserve: number): number {
  const left = test.left - Math.max(reserve, RESERVED_PART * test.limit);
  return Math.min(timeout, Math.max(left, test.left / 2));
}

/** The oldest message that matches the filters and is accepted; undefined at the deadline. */
export async function nextMessage(http: Http, wait: Wait): Promise<Message | undefined> {
  let { after } = wait;
  wait.notes.name = randomName();
  for (;;) {
    const fields = await askUntilDeadline(http, wait, after);
    if (fields === undefined) return undefined;
    after = fields.id;
    const texts = missedTexts(fields, wait.filters);
    const message = texts.length === 0 ? await Message.read(http, fields) : undefined;
    const missing = message ? missed(message, wait.filters) : texts;
    if (message && missing.length === 0 && wait.take(message)) return message;
  }
}

async function askUntilDeadline(http: Http, wait: Wait, after: string | undefined): Promise<MessageFields | undefined> {
  const path = `/inboxes/${encodeURIComponent(wait.inboxId)}/messages/wait`;
  const query = serverQuery(wait.filters, after);
  const headers = waitHeaders({ ...wait, name: wait.notes.name });
  const next = (): Request => {
    const held = Math.min(Math.max(0, Math.ceil(wait.deadline - now())), MAX_REQUEST_MS);
    return { method: "GET", path, query: { ...query, timeout: String(held) }, headers, held };
  };
  for (;;) {
    const { request, outcome } = await http.repeated(next, wait.deadline);
    if (isSuccess(outcome)) return http.decoded<MessageFields>(request, outcome.body, "id", "links");
    // The server checks for a message before it counts a wait, so the last request has also checked.
    if (outcome.status === 429) return undefined;
    if (!isEndOfWait(outcome)) throw http.error(request, outcome);
    wait.notes.link = outcome.help ?? wait.notes.link;
    if (now() >= wait.deadline) return undefined;
  }
}

/** Whether the wait ended after its full timeout. */
function isEndOfWait(outcome: Outcome): boolean {
  return (outcome.status === 408 && isOurs(outcome)) || (outcome.status === 404 && wordsOf(outcome) === NO_MATCH);
}
