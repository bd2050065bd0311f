/** The error of a wait that timed out: the server's explanation, what arrived, and what was rejected. */

import { RestanteError, WaitTimeoutError } from "./errors.js";
import { describeFilters, localFilters, serverQuery, type Filters } from "./filters.js";
import type { Http } from "./http.js";
import type { Arrived, Explanation } from "./types.js";

/** A wait that found too few messages. */
export interface FailedWait {
  inbox: { id: string; address: string; label: string | undefined; dashboardUrl: string };
  filters: Filters;
  /** The cursor of the wait, and whether the inbox object supplied it and not the caller. */
  after: string | undefined;
  remembered: boolean;
  waited: number;
  /** The requested timeout; the test runner may allow less. */
  asked: number;
  /** How many messages were requested, and the ids of those that were found. */
  wanted: number;
  found: readonly string[];
}

/** The server's explanation why no message arrived. */
export function explain(http: Http, inboxId: string, filters: Filters, after?: string): Promise<Explanation> {
  const path = `/inboxes/${encodeURIComponent(inboxId)}/explain`;
  return http.json({ method: "GET", path, query: serverQuery(filters, after) }, "summary", "messages", "refused");
}

/** The error with the reason why the wait failed. */
export async function timeoutError(http: Http, wait: FailedWait): Promise<WaitTimeoutError> {
  const explanation = await explain(http, wait.inbox.id, wait.filters, wait.after).catch((error: unknown) => {
    if (error instanceof RestanteError) return undefined;
    throw error;
  });
  const { filters, waited } = wait;
  const { dashboardUrl, label } = wait.inbox;
  const story = dashboardLine(dashboardUrl, label);
  const text = [opening(wait), ...(explanation ? reasons(wait, explanation) : []), story].join("\n");
  return new WaitTimeoutError(text, { filters, waited, explanation });
}

/** The line of an error that links to the inbox in the dashboard. */
export function dashboardLine(url: string, label?: string): string {
  return `Dashboard: ${url}${label === undefined ? "" : ` (${label})`}`;
}

/** The page of an inbox in the dashboard of a server. */
export function dashboardUrl(server: string, inboxId: string): string {
  return `${server}/inboxes/${encodeURIComponent(inboxId)}`;
}

function opening({ inbox, filters, waited, asked, wanted, found }: FailedWait): string {
  const described = describeFilters(filters);
  const count = wanted === 1 ? "No message" : `Only ${found.length} of ${wanted} messages`;
  const cut = waited < asked ? ` (not ${seconds(asked)}: limited by the timeout of the test)` : "";
  return `${count} for ${inbox.address} within ${seconds(waited)}${cut}${described && ` with ${described}`}.`;
}

function reasons(wait: FailedWait, explanation: Explanation): string[] {
  const { messages, refused } = explanation;
  const local = localFilters(wait.filters);
  const came = messages.latest.map((message) => {
    const missed = missedBy(message, local);
    const not = missed.length > 0 ? `, not: ${missed.join(", ")}` : "";
    const note = wait.found.includes(message.id) ? ", counted" : not;
    return `  ${JSON.stringify(message.subject)} from ${message.from}${note}`;
  });
  const refusals = refused.map(({ sender, recipient, reply }) => `  ${sender} to ${recipient}: ${reply}`);
  const isOlder = messages.latest.some(({ missedBy }) => missedBy.length === 1 && missedBy[0] === "after");
  return [
    cause(wait, explanation, local),
    ...section(`In the inbox (${messages.count}):`, came),
    ...section("Refused:", refusals),
    ...(wait.remembered && isOlder ? [CURSOR_HELP] : []),
  ];
}

/** The server does not know the local filters, so it lists messages that they exclude as matching. */
function missedBy(message: Arrived, local: string[]): string[] {
  return message.missedBy.length > 0 ? message.missedBy : local;
}

/** The first sentence. The server's summary does not know which messages this wait has counted. */
function cause({ found }: FailedWait, { summary, messages }: Explanation, local: string[]): string {
  const others = messages.latest.filter(({ id }) => !found.includes(id));
  if (found.length > 0) {
    if (messages.count <= found.length) return "No other message arrived.";
    const filters = [...new Set(others.flatMap((message) => missedBy(message, local)))].sort();
    return filters.length === 0
      ? "Other messages arrived."
      : `No other message matches the filters (${filters.join(", ")}).`;
  }
  const isLocal = local.length > 0 && others.some((message) => message.missedBy.length === 0);
  return isLocal ? `Messages arrived, but none matches ${local.join(", ")}.` : summary;
}

const CURSOR_HELP =
  '"not: after" means: older than the message that the last wait returned. { after: null } starts over.';

function section(title: string, lines: string[]): string[] {
  return lines.length === 0 ? [] : [title, ...lines];
}

function seconds(milliseconds: number): string {
  return `${Math.round(milliseconds / 100) / 10} s`;
}
