/** Which messages a wait is for. The server checks what it can; regular expressions and predicates are checked here. */

import type { Message } from "./message.js";

/** Which messages are wanted. Everything that is given must hold. */
export interface Filters {
  /** A text that the subject contains, in any case, or a regular expression. */
  subject?: string | RegExp;
  /** A text that the sender's address contains, in any case, or a regular expression. */
  from?: string | RegExp;
  /** Only messages with a one-time code, with a link, or with both. */
  has?: Content | readonly Content[];
  /** Only messages later than this one. By default a wait goes on after the one it returned last; null starts over. */
  after?: { id: string } | string | null;
  /** Only messages for which this is true. */
  where?: (message: Message) => boolean;
}

/** Something that a message can have. */
export type Content = "otp" | "link";

/** The filters of a wait, and how long it lasts. */
export interface WaitOptions extends Filters {
  /** How long to wait, in milliseconds. 0 looks once. */
  timeout?: number;
}

/** The filters that the server checks, as its query. */
export function serverQuery(filters: Filters, after: string | undefined): Record<string, string | undefined> {
  return {
    subject: typeof filters.subject === "string" ? filters.subject : undefined,
    from: typeof filters.from === "string" ? filters.from : undefined,
    has: typeof filters.has === "string" ? filters.has : filters.has?.join(","),
    after,
  };
}

/** Whether the filters that the server cannot check hold. */
export function passes(message: Message, filters: Filters): boolean {
  return (
    matches(message.subject, filters.subject) &&
    matches(message.from, filters.from) &&
    (filters.where?.(message) ?? true)
  );
}

function matches(text: string, filter: string | RegExp | undefined): boolean {
  // A copy: a regular expression with the flag g or y remembers where it stopped.
  return !(filter instanceof RegExp) || new RegExp(filter.source, filter.flags.replace(/[gy]/g, "")).test(text);
}

/** The filters that are checked here, for a person; empty if the server checks all of them. */
export function localFilters(filters: Filters): string[] {
  const named = [
    filters.subject instanceof RegExp ? `subject ${filters.subject}` : "",
    filters.from instanceof RegExp ? `from ${filters.from}` : "",
    filters.where ? "where" : "",
  ];
  return named.filter((name) => name !== "");
}

/** All filters but the cursor, for a person. */
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

/** The id that an explicit `after` names; undefined if it is null or not given. */
export function afterId(after: Filters["after"]): string | undefined {
  return typeof after === "string" ? after : after?.id;
}
