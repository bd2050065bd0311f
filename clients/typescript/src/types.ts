/** The types of the server's responses, with JavaScript field names. */

/** All details of one message, as the server parsed it. */
export interface MessageDetails {
  id: string;
  inboxId: string;
  /** The size of the raw message in bytes. */
  size: number;
  receivedAt: string;
  /** The data of the SMTP client. */
  envelope: Envelope;
  /** The decoded header fields, in order. */
  headers: { name: string; value: string }[];
  from: Mailbox[];
  to: Mailbox[];
  cc: Mailbox[];
  replyTo: Mailbox[];
  messageId: string | null;
  inReplyTo: string | null;
  date: string | null;
  /** The code, how it was recognised, and its line. */
  otp: { code: string; rule: string; line: string } | null;
  links: { url: string; text: string | null; source: string }[];
  attachments: AttachmentInfo[];
  listUnsubscribe: { urls: string[]; oneClick: boolean } | null;
}

/** How a message arrived over SMTP. */
export interface Envelope {
  from: string;
  to: string;
  helo: string | null;
  client: string | null;
  /** The TLS version, or null if the connection was not encrypted. */
  tls: string | null;
  authenticated: boolean | null;
}

/** A name and an address in a header field. */
export interface Mailbox {
  name: string | null;
  address: string;
}

/** An attachment without its bytes. */
export interface AttachmentInfo {
  /** Counts from 0. */
  index: number;
  filename: string | null;
  contentType: string;
  /** The size of the decoded bytes. */
  size: number;
  contentId: string | null;
  inline: boolean;
}

/** An attachment. */
export interface Attachment extends AttachmentInfo {
  /** The decoded bytes. */
  content: Buffer;
}

/** The server's explanation of a missing message. */
export interface Explanation {
  /** One sentence for people. */
  summary: string;
  /** The inbox, or null if it has ended. */
  inbox: InboxFields | null;
  /** How the inbox ended, if it has. */
  ended: { reason: "expired" | "deleted"; at: string } | null;
  /** How many messages are in the inbox, and the ten newest, each with the filters that exclude it. */
  messages: {
    count: number;
    latest: { id: string; from: string; subject: string; receivedAt: string; missedBy: string[] }[];
  };
  /** The ten newest rejections of mail to this address. */
  refused: { at: string; client: string; sender: string; recipient: string; reply: string }[];
  /** Inboxes with a similar address that received mail since this one was created. */
  similar: { address: string; messages: number; lastReceivedAt: string }[];
  /** The use of SMTP. */
  smtp: { connectionsOpen: number; lastConnectionAt: string | null; lastMessageAt: string | null };
}

/** An inbox as returned by the server. */
export interface InboxFields {
  id: string;
  address: string;
  kind: "temporary" | "permanent";
  createdAt: string;
  expiresAt: string | null;
}

/** A message as returned by the server. */
export interface MessageFields {
  id: string;
  inboxId: string;
  from: string;
  to: string;
  subject: string;
  text: string;
  html: string;
  links: string[];
  otp: string;
  receivedAt: string;
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

/** The result of a send request. */
export interface Sent {
  id: string;
  status: string;
}

/** A fault that the server injects when the application sends mail to one inbox. */
export interface Fault {
  /** The SMTP stage: this recipient's RCPT TO, or after the message has been received. */
  at: "rcpt" | "data";
  /** The kind of fault; `bounce` and `duplicate` only at `data`. */
  do: "defer" | "reject" | "disconnect" | "delay" | "bounce" | "duplicate";
  /** How often, 1 to 1,000; by default once. */
  times?: number;
  /** The reply of `defer` and `reject`, for example `451 4.3.0 Try again`. */
  reply?: string;
  /** How many seconds `delay` delays the reply, 1 to 300. */
  seconds?: number;
  /** With `disconnect` at `data`: whether the message is stored. */
  store?: boolean;
}

/** A fault, and how often it was used. */
export interface FaultState extends Fault {
  /** How many uses are left. */
  left: number;
  /** How often it was used. */
  used: number;
  /** The time of each use. */
  uses: string[];
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
