/** What passes between the browser and Node. Cypress passes JSON, which has no regular expressions. */

import type { WaitOptions } from "../filters.js";
import type { TextMatch } from "../match.js";
import type { Fault, MessageFields } from "../types.js";

/** An inbox with its own address. */
export interface CypressInbox {
  id: string;
  /** The address to which the application sends its mail. */
  address: string;
}

/** A message that an inbox received. */
export type CypressMessage = MessageFields;

/** The filters of a wait, and how long it lasts; functions cannot be passed to Node. */
export type CypressFilters = Omit<WaitOptions, "where">;

/** Selects a link: a text that its address contains, a regular expression, or the words that are shown for it. */
export type CypressLinkMatch = string | RegExp | { text: TextMatch };

/** The arguments of the tasks. */
export interface Requests {
  inbox: { label: string };
  inboxFor: { address: string; label: string };
  wait: { inbox: string; filters: CypressFilters };
  code: { message: string; matching?: TextMatch };
  link: { message: string; match?: CypressLinkMatch };
  setFaults: { inbox: string; faults: readonly Fault[] };
}

/** JSON. */
export type Wire = null | boolean | number | string | Wire[] | { [name: string]: Wire };

/** The name of the only member of an object that stands for a regular expression. */
const PATTERN = "restante:pattern";

/** A value as JSON. */
export function send(value: unknown): Wire {
  if (value instanceof RegExp) return { [PATTERN]: [value.source, value.flags] };
  if (Array.isArray(value)) return value.map(send);
  if (typeof value !== "object" || value === null) return value as Wire;
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  return Object.fromEntries(members.map(([name, member]) => [name, send(member)]));
}

/** The value that {@link send} was given. */
export function receive(wire: Wire): unknown {
  if (Array.isArray(wire)) return wire.map(receive);
  if (typeof wire !== "object" || wire === null) return wire;
  const pattern = wire[PATTERN];
  if (Array.isArray(pattern)) return new RegExp(...(pattern as [string, string]));
  return Object.fromEntries(Object.entries(wire).map(([name, member]) => [name, receive(member)]));
}
