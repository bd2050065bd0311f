/** The filters of a wait. The server applies texts and `has`; regular expressions and predicates are applied here. */

import { matchesText } from "./match.js";
import type { Message } from "./message.js";
import type { MessageFields } from "./types.js";

/** The filters for messages. A message must match all of them. */
export interface Filters {
  /** A text that the subject contains (case-insensitive), or a regular expression. */
  subject?: string | RegExp;
  /** A text that the sender's address contains (case-insensitive), or a regular expression. */
  from?: string | RegExp;
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

/** Whether the message matches the filters that the server cannot apply. */
export function passes(message: Message, filters: Filters): boolean {
  return passesTexts(message, filters) && (filters.where?.(message) ?? true);
}

/** Whether it matches the regular expressions, for which its details are not needed. */
export function passesTexts({ subject, from }: Pick<MessageFields, "subject" | "from">, filters: Filters): boolean {
  return matches(subject, filters.subject) && matches(from, filters.from);
}

function matches(text: string, filter: string | RegExp | undefined): boolean {
  return !(filter instanceof RegExp) || matchesText(text, filter);
}

/** The filters that are applied here, as texts; empty if the server applies all of them. */
export function localFilters(filters: Filters): string[] {
  const named = [
    filters.subject instanceof RegExp ? `subject ${filters.subject}` : "",
    filters.from instanceof RegExp ? `from ${filters.from}` : "",
    filters.where ? "where" : "",
  ];
  return named.filter((name) => name !== "");
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

function quoted(filter: string | RegExp): string {
  return typeof filter === "string" ? JSON.stringify(filter) : String(filter);
}

/** The id in an explicit `after`; undefined if it is null or not given. */
export function afterId(after: Filters["after"]): string | undefined {
  return typeof after === "string" ? after : after?.id;
}
