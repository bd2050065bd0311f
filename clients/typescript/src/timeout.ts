/** The error of a wait that timed out: the server's explanation, what arrived, and what was rejected. */

import { RestanteError, WaitTimeoutError } from "./errors.js";
import { describeFilters, serverQuery, type Filters } from "./filters.js";
import type { Http } from "./http.js";
import type { Arrived, Explanation, Refused } from "./types.js";
import type { Notes } from "./wait.js";

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
  notes: Notes;
}

/** The server's explanation why no message arrived. */
export function explain(http: Http, inboxId: string, filters: Filters, after?: string): Promise<Explanation> {
  const path = `/inboxes/${encodeURIComponent(inboxId)}/explain`;
  return http.json({ method: "GET", path, query: serverQuery(filters, after) }, "summary", "messages", "refused");
}

/** The error with the reason why the wait failed. */
export async function timeoutError(http: Http, wait: FailedWait): Promise<WaitTimeoutError> {
  const answer = await explain(http, wait.inbox.id, wait.filters, wait.after).catch((error: unknown) => {
    if (error instanceof RestanteError) return undefined;
    throw error;
  });
  const explanation = answer && completed(answer, wait);
  const { filters, waited } = wait;
  const { link } = wait.notes;
  const { dashboardUrl, label } = wait.inbox;
  const last = link === undefined ? dashboardLine(dashboardUrl, label) : storyLine(link, label, http.endsWithRun);
  const text = [opening(wait), ...(explanation ? reasons(wait, explanation) : []), last].join("\n");
  return new WaitTimeoutError(text, { filters, waited, explanation, link });
}

/** The line of an error that links to the inbox in the dashboard. */
export function dashboardLine(url: string, label?: string): string {
  return `Dashboard: ${url}${inParentheses(label)}`;
}

/** The line of an error that links to the story of the wait. The server of a run takes the page with it. */
function storyLine(url: string, label: string | undefined, endsWithRun: boolean): string {
  return `What happened during this wait: ${url}${inParentheses(label)}${endsWithRun ? ", until the run ends" : ""}`;
}

function inParentheses(label: string | undefined): string {
  return label === undefined ? "" : ` (${label})`;
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
  const { messages, refused, summary } = explanation;
  const came = messages.latest.map(({ id, subject, from, missedBy }) => {
    const not = missedBy.length > 0 ? `, not: ${missedBy.join(", ")}` : "";
    return `  ${JSON.stringify(subject)} from ${from}${wait.found.includes(id) ? ", counted" : not}`;
  });
  const others = refused.filter(({ recipient, reply }) => !summary.includes(recipient) || !summary.includes(reply));
  const isOlder = messages.latest.some(({ missedBy }) => missedBy.length === 1 && missedBy[0] === "after");
  return [
    summary,
    ...section(`In the inbox (${messages.count}):`, came),
    ...section("Rejected:", others.map(refusal)),
    ...(wait.remembered && isOlder ? [CURSOR_HELP] : []),
  ];
}

function refusal({ sender, recipient, reply }: Refused): string {
  return recipient === "" ? `  a session without mail: ${reply}` : `  ${sender || "<>"} to ${recipient}: ${reply}`;
}

/** The explanation with what the server does not know: the filters applied here, and what the wait has counted. */
function completed(explanation: Explanation, { filters, notes: { excluded }, found }: FailedWait): Explanation {
  const { count } = explanation.messages;
  const latest = explanation.messages.latest.map((message) => {
    return { ...message, missedBy: [...message.missedBy, ...(excluded.get(message.id) ?? [])] };
  });
  const others = latest.filter(({ id }) => !found.includes(id));
  const isExcluded = excluded.size > 0 && others.length > 0 && others.every(({ missedBy }) => missedBy.length > 0);
  let { summary, cause } = explanation;
  if (found.length > 0) summary = beside(others, count - found.length);
  else if (isExcluded) [summary, cause] = [excludedSummary(filters, others), "filter_missed"];
  return { ...explanation, summary, cause, messages: { count, latest } };
}

/** What arrived in addition to the messages that the wait has counted. */
function beside(others: Arrived[], count: number): string {
  if (count <= 0) return "No other message arrived.";
  const filters = filtersOf(others);
  return filters === "" ? "Other messages arrived." : `No other message matches the filters (${filters}).`;
}

/** What was expected and what arrived, side by side, as the server says it for its own filters. */
function excludedSummary(filters: Filters, latest: Arrived[]): string {
  const named = latest.slice(0, NAMED).map(({ subject, from }) => `${JSON.stringify(subject)} from ${from}`);
  const arrived = `${named.join(", ")}${latest.length > NAMED ? " and others" : ""}`;
  return `Expected ${describeFilters(filters)}; arrived: ${arrived}. Change the filter, or what the application sends.`;
}

function filtersOf(messages: Arrived[]): string {
  return [...new Set(messages.flatMap(({ missedBy }) => missedBy))].sort().join(", ");
}

/** How many messages a summary names. */
const NAMED = 3;

const CURSOR_HELP =
  '"not: after" means: the last wait returned this message, or a later one. { after: null } starts over.';

function section(title: string, lines: string[]): string[] {
  return lines.length === 0 ? [] : [title, ...lines];
}

function seconds(milliseconds: number): string {
  return `${Math.round(milliseconds / 100) / 10} s`;
}
