/** The error of a wait that timed out: what was expected, and the server's report. */

import { RestanteError, WaitTimeoutError } from "./errors.js";
import { describeFilters, serverQuery, waitHeaders, type Filters } from "./filters.js";
import type { Http } from "./http.js";
import type { Explanation } from "./types.js";
import type { Notes } from "./wait.js";

/** A wait that found too few messages. */
export interface FailedWait {
  inbox: { id: string; address: string; label: string | undefined; dashboardUrl: string };
  filters: Filters;
  /** The cursor of the wait. */
  after: string | undefined;
  waited: number;
  /** The requested timeout; the test runner may allow less. */
  asked: number;
  /** How many messages were requested, and the ids of those that were found. */
  wanted: number;
  found: readonly string[];
  notes: Notes;
}

/** The server's explanation why no message arrived. */
export function explain(
  http: Http,
  inboxId: string,
  filters: Filters,
  after?: string,
  headers: Record<string, string> = {},
): Promise<Explanation> {
  const path = `/inboxes/${encodeURIComponent(inboxId)}/explain`;
  return http.json({ method: "GET", path, query: serverQuery(filters, after), headers }, "summary", "report");
}

/** The error with the reason why the wait failed. */
export async function timeoutError(http: Http, wait: FailedWait): Promise<WaitTimeoutError> {
  const { filters, waited, notes, inbox } = wait;
  const after = wait.found.at(-1) ?? wait.after;
  const explainNow = () =>
    explain(http, inbox.id, filters, after, waitHeaders({ filters, name: notes.name })).catch((error: unknown) => {
      if (error instanceof RestanteError) return undefined;
      throw error;
    });
  const explanation = await explainNow();
  const { link } = notes;
  const { dashboardUrl, label } = inbox;
  const last = link === undefined ? dashboardLine(dashboardUrl, label) : storyLine(link, label, http.endsWithRun);
  const text = [opening(wait), ...(explanation ? [explanation.report] : []), last].join("\n");
  return new WaitTimeoutError(text, { filters, waited, explanation, link, explainNow });
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

function seconds(milliseconds: number): string {
  return `${Math.round(milliseconds / 100) / 10} s`;
}
