/** The filters of a wait. The server applies texts and `has`; regular expressions and predicates are applied here. */

import { matchesText, type TextMatch } from "./match.js";
import type { Message } from "./message.js";
import type { MessageFields } from "./types.js";

/** The filters for messages. A message must match all of them. */
export interface Filters {
  /** A text that the subject contains (case-insensitive), or a regular expression. */
  subject?: TextMatch;
  /** A text that the sender's address contains (case-insensitive), or a regular expression. */
  from?: TextMatch;
  /** Only messages with a labelled code, a link, an `otp` (it may be a number without a label), or several of these. */
  has?: Content | readonly Content[];
  /** Only messages later than this one. By default, later than the last one that a wait returned; null starts over. */
  after?: { id: string } | string | null;
  /** Only messages for which this function returns true. */
  where?: (message: Message) => boolean;
}

/** Something that a message can have. */
export type Content = "code" | "link" | "otp";

/** The filters of a wait, and how long it lasts. */
export interface WaitOptions extends Filters {
  /** How long to wait, in milliseconds. 0 checks once. */
  timeout?: number;
}

/** The filters that the server applies, as query parameters. */
export function serverQuery(filters: Filters, after: string | undefined): Record<string, string | undefined> {
  return {
    subject: typeof filters.subject === "string" ? filters.subject : undefined,
    from: typeof filters.from === "string" ? filters.from : undefined,
    has: typeof filters.has === "string" ? filters.has : filters.has?.join(","),
    after,
  };
}

/** The names of the filters that exclude a message and that the server cannot apply. */
export function missed(message: Message, filters: Filters): string[] {
  const texts = missedTexts(message, filters);
  return texts.length === 0 && filters.where?.(message) === false ? ["where"] : texts;
}

/** The regular expressions that exclude a message, for which its details are not needed. */
export function missedTexts(fields: Pick<MessageFields, "subject" | "from">, filters: Filters): string[] {
  const named = ["subject", "from"] as const;
  return named.filter((name) => !matches(fields[name], filters[name]));
}

function matches(text: string, filter: TextMatch | undefined): boolean {
  return !(filter instanceof RegExp) || matchesText(text, filter);
}

/** All filters except the cursor, as a text. */
export function describeFilters(filters: Filters): string {
  const contents = typeof filters.has === "string" ? [filters.has] : (filters.has ?? []);
  const named = [
    filters.subject === undefined ? "" : `subject ${quoted(filters.subject)}`,
    filters.from === undefined ? "" : `from ${quoted(filters.from)}`,
    contents.length === 0 ? "" : `has ${contents.join(" and ")}`,
    filters.where ? "where" : "",
  ];
  return named.filter((name) => name !== "").join(", ");
}

function quoted(filter: TextMatch): string {
  return typeof filter === "string" ? JSON.stringify(filter) : String(filter);
}

/** The id in an explicit `after`; undefined if it is null or not given. */
export function afterId(after: Filters["after"]): string | undefined {
  return typeof after === "string" ? after : after?.id;
}
