/**
 * The filters of a wait. The server applies texts, `has` and one header field; regular expressions, predicates and
 * further header fields are applied here.
 */

import { matchesText, type TextMatch } from "./match.js";
import type { Message } from "./message.js";
import type { MessageFields } from "./types.js";

/** The filters for messages. A message must match all of them. */
export interface Filters {
  /** A text that the subject contains (case-insensitive), or a regular expression. */
  subject?: TextMatch;
  /** A text that the sender's address contains (case-insensitive), or a regular expression. */
  from?: TextMatch;
  /** A text that the fields To and Cc contain (case-insensitive), or a regular expression. */
  to?: TextMatch;
  /** A text that the plain text contains (case-insensitive), or a regular expression. */
  text?: TextMatch;
  /** Header fields by name: a text that the value contains (case-insensitive), or a regular expression. */
  header?: Readonly<Record<string, TextMatch>>;
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
  const text = (filter: TextMatch | undefined) => (typeof filter === "string" ? filter : undefined);
  const field = serverField(filters);
  return {
    subject: text(filters.subject),
    from: text(filters.from),
    to: text(filters.to),
    text: text(filters.text),
    header: field?.join(":"),
    has: typeof filters.has === "string" ? filters.has : filters.has?.join(","),
    after,
  };
}

/** The header field that the server compares: it takes one, and only a text. */
function serverField({ header = {} }: Filters): [string, string] | undefined {
  return Object.entries(header).find((entry): entry is [string, string] => typeof entry[1] === "string");
}

/** The names of the filters that exclude a message and that the server cannot apply. */
export function missed(message: Message, filters: Filters): string[] {
  const named = missedTexts(message, filters);
  const hasField = (name: string, match: TextMatch) =>
    message.fieldValues(name).some((value) => matchesText(value, match));
  const { to, header = {} } = filters;
  const [sent] = serverField(filters) ?? [];
  if (to instanceof RegExp && !hasField("to", to) && !hasField("cc", to)) named.push("to");
  if (Object.entries(header).some(([name, match]) => name !== sent && !hasField(name, match))) named.push("header");
  return named.length === 0 && filters.where?.(message) === false ? ["where"] : named;
}

/** The regular expressions that exclude a message, for which its details are not needed. */
export function missedTexts(fields: Pick<MessageFields, "subject" | "from" | "text">, filters: Filters): string[] {
  const named = ["subject", "from", "text"] as const;
  return named.filter((name) => !matches(fields[name], filters[name]));
}

function matches(text: string, filter: TextMatch | undefined): boolean {
  return !(filter instanceof RegExp) || matchesText(text, filter);
}

/** The filters that compare texts, in words, and whether only this client applies them. */
function described(filters: Filters): { words: string; isOurs: boolean }[] {
  const { subject, from, to, text, header = {} } = filters;
  const [sent] = serverField(filters) ?? [];
  const given = Object.entries({ subject, from, to, text }).filter((entry): entry is [string, TextMatch] => !!entry[1]);
  const texts = given.map(([name, filter]) => ({ name, filter, isOurs: filter instanceof RegExp }));
  const fields = Object.entries(header).map(([name, filter]) => ({
    name: `header ${name}`,
    filter,
    isOurs: name !== sent,
  }));
  return [...texts, ...fields].map(({ name, filter, isOurs }) => ({ words: `${name} ${quoted(filter)}`, isOurs }));
}

/** All filters except the cursor, as a text. */
export function describeFilters(filters: Filters): string {
  const contents = typeof filters.has === "string" ? [filters.has] : (filters.has ?? []);
  const named = [
    ...described(filters).map(({ words }) => words),
    contents.map((one) => (one === "otp" ? "a one-time code" : `a ${one}`)).join(" and "),
    filters.where ? "where" : "",
  ];
  return named.filter(Boolean).join(", ");
}

/** What a server can show about the filters that only this client applies. */
export interface Asked {
  filters: Filters;
  /** Whether no message is expected. */
  expectsNone?: boolean;
  /** The name of the wait, the same in all of its requests. */
  name: string | undefined;
}

/** Maximum number of characters of the filters in a header: each may take twelve bytes. */
const SHOWN = 160;

/** The headers of a wait: its name, what only the client compares, and whether it expects nothing. */
export function waitHeaders({ filters, expectsNone, name }: Asked): Record<string, string> {
  const ours = described(filters).flatMap(({ words, isOurs }) => (isOurs ? [words] : []));
  const all = [...ours, ...(filters.where ? [`where ${String(filters.where)}`] : [])].join(", ");
  const shown = Array.from(all).slice(0, SHOWN).join("");
  return {
    ...(name === undefined ? {} : { "X-Restante-Wait": name }),
    ...(shown === "" ? {} : { "X-Restante-Filters": encodeURIComponent(shown.replace(/\p{Cs}/gu, "\uFFFD")) }),
    ...(expectsNone ? { "X-Restante-Expects": "none" } : {}),
  };
}

function quoted(filter: TextMatch): string {
  return typeof filter === "string" ? JSON.stringify(filter) : String(filter);
}

/** The id in an explicit `after`; undefined if it is null or not given. */
export function afterId(after: Filters["after"]): string | undefined {
  return typeof after === "string" ? after : after?.id;
}
