/// <reference types="node" preserve="true" />
/** The types of requests and responses. Those of the server's responses are in `wire.ts`. */

import type { AttachmentInfo } from "./wire.js";

export type * from "./wire.js";

/** An attachment. */
export interface Attachment extends AttachmentInfo {
  /** The decoded bytes. */
  content: Buffer;
}

/** A message to send from an inbox. */
export interface OutgoingMessage {
  /** One address, without a display name. */
  to: string;
  subject: string;
  text?: string;
  html?: string;
  /** The message to which this one replies, or its id. */
  inReplyTo?: string | { id: string };
}

/** The address of an SMTP server. */
export interface SmtpAddress {
  host: string;
  port: number;
}

/** Converts JSON field names at every depth: `received_at` becomes `receivedAt`. */
export function fromWire(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(fromWire);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [camelCase(name), fromWire(field)]));
}

function camelCase(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
