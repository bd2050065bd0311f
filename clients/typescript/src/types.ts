/** What the server's answers consist of, with the names that JavaScript uses for the fields. */

/** What one message consists of, as the server read it. */
export interface MessageDetails {
  id: string;
  inboxId: string;
  /** The size of the raw message in bytes. */
  size: number;
  receivedAt: string;
  /** What the SMTP client said. */
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
  /** The code, how it was recognised, and the line it is in. */
  otp: { code: string; rule: string; line: string } | null;
  links: { url: string; text: string | null; source: string }[];
  attachments: AttachmentInfo[];
  listUnsubscribe: { urls: string[]; oneClick: boolean } | null;
}

/** How a message came in over SMTP. */
export interface Envelope {
  from: string;
  to: string;
  helo: string | null;
  client: string | null;
  /** The version of TLS, or null if the connection was not encrypted. */
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

/** Why a mail did not come, as the server sees it. */
export interface Explanation {
  /** One sentence for a person. */
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
  /** The ten newest refusals of mail to this address. */
  refused: { at: string; client: string; sender: string; recipient: string; reply: string }[];
  /** Inboxes with a similar address that got mail since this one was created. */
  similar: { address: string; messages: number; lastReceivedAt: string }[];
  /** The use of SMTP. */
  smtp: { connectionsOpen: number; lastConnectionAt: string | null; lastMessageAt: string | null };
}

/** An inbox as the server describes it. */
export interface InboxFields {
  id: string;
  address: string;
  kind: "temporary" | "permanent";
  createdAt: string;
  expiresAt: string | null;
}

/** A message as the server describes it. */
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
  /** The message that this one answers, or its id. */
  inReplyTo?: string | { id: string };
}

/** What a send was answered with. */
export interface Sent {
  id: string;
  status: string;
}

/** A fault that the server plays to the application's mailer, at one inbox. */
export interface Fault {
  /** At this recipient's RCPT TO, or once the message has been received. */
  at: "rcpt" | "data";
  /** What happens; `bounce` and `duplicate` only at `data`. */
  do: "defer" | "reject" | "disconnect" | "delay" | "bounce" | "duplicate";
  /** How often, 1 to 1,000; by default once. */
  times?: number;
  /** The reply of `defer` and `reject`, as in `451 4.3.0 Try again`. */
  reply?: string;
  /** How long `delay` holds the reply back, 1 to 300. */
  seconds?: number;
  /** With `disconnect` at `data`: whether the message is stored. */
  store?: boolean;
}

/** A fault, and how often it was used. */
export interface FaultState extends Fault {
  /** How often it will still be used. */
  left: number;
  /** How often it was used. */
  used: number;
  /** The time of each use. */
  uses: string[];
}

/** Where a server takes mail. */
export interface SmtpAddress {
  host: string;
  port: number;
}

/** Turns the names of the fields of JSON, at every depth: `received_at` becomes `receivedAt`. */
export function fromWire(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(fromWire);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [camelCase(name), fromWire(field)]));
}

function camelCase(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
