/** Waiting for the next message after a cursor, until a deadline, whatever the connection and the limits do. */

import { passes, serverQuery, type Filters } from "./filters.js";
import { decoded, isSuccess, Pauses, wordsOf, type Http, type Outcome, type Request } from "./http.js";
import { Message } from "./message.js";
import type { MessageFields } from "./types.js";

/** The longest wait that the server holds in one request. */
const LONGEST_REQUEST = 120_000;
const NO_MATCH = "no matching message";

/** One wait. */
export interface Wait {
  inboxId: string;
  filters: Filters;
  /** Only messages later than this one. */
  after: string | undefined;
  /** When to stop, on the clock of `performance.now()`. */
  deadline: number;
  /** Takes a message, or leaves it and goes on. */
  take: (message: Message) => boolean;
}

/** The oldest message that passes the filters and is taken; undefined at the deadline. */
export async function nextMessage(http: Http, wait: Wait): Promise<Message | undefined> {
  let { after } = wait;
  for (;;) {
    const fields = await askUntilDeadline(http, wait, after);
    if (fields === undefined) return undefined;
    const message = new Message(http, fields);
    if (passes(message, wait.filters) && wait.take(message)) return message;
    after = message.id;
  }
}

async function askUntilDeadline(http: Http, wait: Wait, after: string | undefined): Promise<MessageFields | undefined> {
  const pauses = new Pauses(wait.deadline);
  const path = `/inboxes/${encodeURIComponent(wait.inboxId)}/messages/wait`;
  const query = serverQuery(wait.filters, after);
  for (;;) {
    const left = Math.max(0, Math.ceil(wait.deadline - performance.now()));
    const timeout = Math.min(left, LONGEST_REQUEST);
    const request: Request = { method: "GET", path, query: { ...query, timeout: String(timeout) } };
    const outcome = await http.attempt(request, timeout);
    if (isSuccess(outcome)) return decoded<MessageFields>(outcome.body);
    if (isEndOfWait(outcome)) {
      if (left === 0 || performance.now() >= wait.deadline) return undefined;
    } else if (outcome.status === 429) {
      // As many waits as may be are open. The list is not counted.
      const found = await oldestInList(http, wait, query);
      if (found || !(await pauses.next())) return found;
    } else if (!isPassing(outcome) || !(await pauses.next(outcome))) {
      throw http.error(request, outcome);
    }
  }
}

async function oldestInList(
  http: Http,
  wait: Wait,
  query: Record<string, string | undefined>,
): Promise<MessageFields | undefined> {
  const path = `/inboxes/${encodeURIComponent(wait.inboxId)}/messages`;
  const { messages } = await http.json<{ messages: MessageFields[] }>({ method: "GET", path, query });
  return messages.at(-1);
}

/** The server has looked for as long as it was asked to. */
function isEndOfWait(outcome: Outcome): boolean {
  return outcome.status === 408 || (outcome.status === 404 && wordsOf(outcome) === NO_MATCH);
}

/** The server restarts, or the connection broke. */
function isPassing({ status }: Outcome): boolean {
  return status === 503 || status === 0;
}
