/** The types of the server's responses, with JavaScript field names. Written by clients/generate.py. */

/** The server answers. */
export interface Health {
  status: "ok";
}

/** An address at which a test receives mail. */
export interface InboxFields {
  /**
   * The inbox identifier: the local part of the address, or a generated one if the address is on another domain than
   * the mail domain.
   */
  id: string;
  /** The recipient address. */
  address: string;
  /** A temporary inbox expires automatically; a permanent one is managed in the dashboard. */
  kind: "temporary" | "permanent";
  /** UTC, with milliseconds. */
  createdAt: string;
  /**
   * One hour after creation for a temporary inbox, or after the last PUT of its address. After that, requests for the
   * inbox and its messages return 404. Null: never.
   */
  expiresAt: string | null;
}

/** A received message. */
export interface MessageFields {
  /** The message identifier, also the `after` cursor. */
  id: string;
  /** The inbox that contains the message. */
  inboxId: string;
  /** The first address of the From header; if it has none, the envelope sender, which may be empty. */
  from: string;
  /** The recipient address, which is the inbox address. */
  to: string;
  /** The decoded subject; empty if there is none. */
  subject: string;
  /**
   * The plain text. Lines end with \n; trailing line breaks are removed. If the message has only HTML: that HTML as
   * readable text.
   */
  text: string;
  /** The HTML; empty if there is none. */
  html: string;
  /** Absolute URIs without duplicates: first those of the HTML, then those of the text, each in document order. */
  links: string[];
  /** A labelled code of 4 to 8 digits; if none, the first 6-digit word; if none, empty. */
  otp: string;
  /** UTC, with milliseconds. */
  receivedAt: string;
}

/** How a message arrived. */
export interface Envelope {
  /** Empty for the null reverse-path. */
  from: string;
  /** The recipient. */
  to: string;
  /** The name that the client gave in EHLO or HELO. */
  helo: string | null;
  /** The client's address; null if this service composed the message. */
  client: string | null;
  /** The TLS version; null without TLS. */
  tls: "TLSv1.2" | "TLSv1.3" | null;
  /** Whether the client authenticated. */
  authenticated: boolean | null;
  /** The way by which it arrived; null for a report of this service. */
  via: "smtp" | "api" | "ses" | "resend" | "sendgrid" | "postmark" | "mailgun" | "mailpit" | null;
}

/** A header field. */
export interface Header {
  /** Its name. */
  name: string;
  /** Decoded, unfolded. */
  value: string;
}

/** A name and an address in a header field. */
export interface Mailbox {
  /** The display name. */
  name: string | null;
  /** The address. */
  address: string | null;
}

/** A one-time code, and how it was recognised. */
export interface Otp {
  /** The digits. */
  code: string;
  /** The rule that recognised it. */
  rule:
    | "domain_bound"
    | "label_before"
    | "label_after"
    | "alone_below_label"
    | "same_sentence"
    | "alone_above_label"
    | "six_digits";
  /** Its line. */
  line: string;
}

/** A labelled code in any form, and how it was recognised. */
export interface Code {
  /** As a person would type it: digits without spaces, or letters and digits with their hyphens. */
  code: string;
  /** The rule that recognised it. */
  rule:
    | "domain_bound"
    | "label_before"
    | "label_after"
    | "alone_below_label"
    | "same_sentence"
    | "alone_above_label"
    | "six_digits";
  /** Its line. */
  line: string;
}

/** A link with its text. */
export interface Link {
  /** Its target. */
  url: string;
  /** The text of the link. */
  text: string | null;
  /** Where it was found. */
  source: "html" | "text";
}

/** An attachment without its bytes. */
export interface AttachmentInfo {
  /** Counts from 0. */
  index: number;
  /** Its name. */
  filename: string | null;
  /** Its media type. */
  contentType: string;
  /** The size of the decoded bytes. */
  size: number;
  /** Its Content-ID. */
  contentId: string | null;
  /** Whether it is shown in the message. */
  inline: boolean;
}

/** The List-Unsubscribe header. */
export interface ListUnsubscribe {
  /** Its URLs. */
  urls: string[];
  /** Whether one POST request unsubscribes. */
  oneClick: boolean;
}

/** All details of one message. */
export interface MessageDetails {
  /** Identifies the message. */
  id: string;
  /** The inbox that contains it. */
  inboxId: string;
  /** Bytes as received. */
  size: number;
  /** When it was accepted. */
  receivedAt: string;
  /** How it arrived. */
  envelope: Envelope;
  /** The header fields, in order. */
  headers: Header[];
  /** The authors. */
  from: Mailbox[];
  /** The recipients in the header. */
  to: Mailbox[];
  /** The recipients of copies. */
  cc: Mailbox[];
  /** Where replies go. */
  replyTo: Mailbox[];
  /** The Message-ID, with angle brackets. */
  messageId: string | null;
  /** The Message-ID of the message to which it replies. */
  inReplyTo: string | null;
  /** The date in the header. */
  date: string | null;
  /** The one-time code as in the field `otp` of the message: labelled digits, or the first six-digit number. */
  otp: Otp | null;
  /**
   * The code that a person would type, in any form: `otp` if it is labelled, or else a labelled code with letters or
   * with 9 or 10 digits. The first of `codes`.
   */
  code: Code | null;
  /** The labelled codes, each once. If there are several, the message has several labels with different codes. */
  codes: Code[];
  /** The links, with their texts. */
  links: Link[];
  /** The attachments. */
  attachments: AttachmentInfo[];
  /** The List-Unsubscribe header. */
  listUnsubscribe: ListUnsubscribe | null;
}

/** An accepted message. */
export interface Sent {
  /** Identifies the queued outgoing item. */
  id: string;
  /** `queued`: the message is stored and will be delivered. */
  status: "queued";
}

/** What fails, and when: `rcpt` is at RCPT TO for this recipient, `data` after the message was received. */
export interface Fault {
  /** The SMTP stage: this recipient's RCPT TO, or after the message has been received. */
  at: "rcpt" | "data";
  /** The kind of fault. */
  do: "defer" | "reject" | "disconnect" | "reset" | "delay" | "bounce" | "drop" | "duplicate";
  /** How often the fault applies. */
  times?: number;
  /** The reply, one line with an enhanced status code. */
  reply?: string;
  /** Whether the message is stored first. */
  store?: boolean;
  /** How long the reply is delayed. */
  seconds?: number;
}

/** A fault as given, with its uses. */
export interface FaultState {
  /** When it applies. */
  at: "rcpt" | "data";
  /** What goes wrong. */
  do: "defer" | "reject" | "disconnect" | "reset" | "delay" | "bounce" | "drop" | "duplicate";
  /** How often it applies. */
  times: number;
  /** The reply of `defer` and `reject`. */
  reply?: string;
  /** How many seconds `delay` delays the reply. */
  seconds?: number;
  /** Whether `disconnect` or `reset` at `data` stores the message first. */
  store?: boolean;
  /** How often it still applies. */
  left: number;
  /** How often it was used. */
  used: number;
  /** The times of its uses, oldest first. */
  uses: string[];
}

/** How an inbox ended. */
export interface Ended {
  /** `expired` or `deleted`. */
  reason: "expired" | "deleted";
  /** When it ended. */
  at: string;
}

/** A received message, with the filters that exclude it. */
export interface Arrived {
  /** Identifies the message; also the cursor `after`. */
  id: string;
  /** The sender's address. */
  from: string;
  /** The subject. */
  subject: string;
  /** When it was accepted. */
  receivedAt: string;
  /** The filters that exclude it. */
  missedBy: string[];
}

/** How many messages are in the inbox, and the newest. */
export interface ArrivedMessages {
  /** How many there are. */
  count: number;
  /** The newest. */
  latest: Arrived[];
}

/** Mail that was rejected. */
export interface Refused {
  /** When it was rejected. */
  at: string;
  /** The client's address. */
  client: string;
  /** The reverse path. */
  sender: string;
  /** The recipient. */
  recipient: string;
  /** The reply to the client. */
  reply: string;
}

/** Another inbox that received mail. */
export interface Similar {
  /** Its address. */
  address: string;
  /** How many messages it has. */
  messages: number;
  /** When the last one arrived. */
  lastReceivedAt: string;
}

/** The use of SMTP. */
export interface SmtpUse {
  /** How many connections are open. */
  connectionsOpen: number;
  /** When the last client connected. */
  lastConnectionAt: string | null;
  /** When the last message was accepted. */
  lastMessageAt: string | null;
}

/** When each API for sending was last used; null if it was not. */
export interface SendApisUse {
  /** Amazon SES. */
  ses: string | null;
  /** Resend. */
  resend: string | null;
  /** SendGrid. */
  sendgrid: string | null;
  /** Postmark. */
  postmark: string | null;
  /** Mailgun. */
  mailgun: string | null;
}

/** The explanation of a missing message. */
export interface Explanation {
  /** One sentence for a person. */
  summary: string;
  /**
   * The sentence, then the newest messages, the rejections and the other inboxes that it does not name, in lines: what
   * a client prints about a wait that failed.
   */
  report: string;
  /** The cause in the summary, for programs. */
  cause:
    | "inbox_expired"
    | "inbox_deleted"
    | "late"
    | "arrived"
    | "unexpected"
    | "filter_missed"
    | "nothing_new"
    | "fault"
    | "bare_line_end"
    | "inbox_full"
    | "other_domain"
    | "rejected"
    | "typo"
    | "other_address"
    | "login_failed"
    | "tls_failed"
    | "wrong_port"
    | "no_mail"
    | "sent_elsewhere"
    | "nothing_connected";
  /** The inbox; null if it has ended. */
  inbox: InboxFields | null;
  /** How it ended, if it has. */
  ended: Ended | null;
  /** The messages in it. */
  messages: ArrivedMessages;
  /**
   * What was rejected since the inbox was created, or for a wait that timed out, since five minutes before it. Mail to
   * this inbox is first.
   */
  refused: Refused[];
  /** Similar addresses that received mail. */
  similar: Similar[];
  /** The use of SMTP at the whole installation. */
  smtp: SmtpUse;
  /** When each API for sending was last used at the whole installation. */
  sendApis: SendApisUse;
}

/** The filters of a wait. */
export interface EventFilters {
  /** The filter for the subject. */
  subject?: string | null;
  /** The filter for the sender. */
  from?: string | null;
  /** The filter for the To and Cc headers. */
  to?: string | null;
  /** The filter for the text. */
  text?: string | null;
  /** The filter for a header field. */
  header?: string | null;
  /** What the message must have. */
  has?: string | null;
  /** The cursor. */
  after?: string | null;
  /** What only the client compares, as it describes it. */
  client?: string | null;
  /** The timeout in milliseconds. */
  timeout: number;
}

/** An SMTP command with its reply. It never contains a password, a body or a key. */
export interface Exchange {
  /** The command; empty for the greeting. */
  command: string;
  /** The reply; empty if there was none. */
  reply: string;
}

/** One event. A field that its kind does not have is missing. */
export interface InboxEvent {
  /** When it happened. */
  at: string;
  /** What happened. */
  kind:
    | "created"
    | "claimed"
    | "wait_started"
    | "wait_ended"
    | "smtp"
    | "send_api"
    | "fault_used"
    | "stored"
    | "refused"
    | "sent"
    | "expired"
    | "deleted";
  /** The event in one line. */
  text: string;
  /** Of a wait: its filters. */
  filters?: EventFilters | null;
  /** Of the end of a wait, or of an attempt to send: its result. */
  outcome?: string | null;
  /** The message: stored, found by a wait, or sent. */
  messageId?: string | null;
  /** Of a wait that timed out: the page that explains it. */
  failure?: string | null;
  /** The client's address. */
  client?: string | null;
  /** The TLS version of the session. */
  tls?: string | null;
  /** Of an SMTP session: its commands and replies. */
  commands?: Exchange[];
}

/** A problem of a message. */
export interface Problem {
  /** The check that found it. */
  check:
    | "placeholder"
    | "link"
    | "text_part"
    | "image"
    | "size"
    | "headers"
    | "unsubscribe"
    | "html_support"
    | "accessibility";
  /** `error` if no good message has it, `warning` if a good message may have it. */
  severity: "error" | "warning";
  /** What is wrong, as a sentence. */
  detail: string;
  /** The part of the source in which it is; null if something is missing. */
  part: "header" | "text" | "html" | null;
  /** The number of the line in this part, from 1. */
  line: number | null;
  /** The start of that line, at most 200 characters. */
  source: string | null;
}

/** A feature of HTML or CSS. The data is from caniemail.com. */
export interface HtmlFeature {
  /** Its name at `https://www.caniemail.com/features/{slug}/`. */
  slug: string;
  /** Its title. */
  title: string;
  /** How many clients support it. */
  yes: number;
  /** How many support it partially. */
  partly: number;
  /** The clients that do not support it. */
  no: string[];
  /** The line of the HTML that uses it first. */
  line: number;
}

/** How many mail clients support the HTML and CSS of a message. */
export interface HtmlSupport {
  /** The average over the features that the message uses: how many percent of the clients support one. */
  supportPercent: number;
  /** The features that some clients do not support, the least supported first. */
  features: HtmlFeature[];
}

/** The result of SPF (RFC 7208). */
export interface SpfCheck {
  /** The result. */
  result: "pass" | "fail" | "softfail" | "neutral" | "none" | "temperror" | "permerror";
  /**
   * The domain of the envelope sender, or the name in EHLO if the sender is empty; null if the message did not arrive
   * over SMTP.
   */
  domain: string | null;
  /** The address of the SMTP client; null if the message did not arrive over SMTP. */
  client: string | null;
  /** The reason, as a sentence. */
  detail: string;
}

/** The result of a DKIM signature (RFC 6376, RFC 8463). */
export interface DkimCheck {
  /** The result. */
  result: "pass" | "fail" | "softfail" | "neutral" | "none" | "temperror" | "permerror";
  /** The domain that signs; null if the signature cannot be parsed. */
  domain: string | null;
  /** The selector of its key; null if the signature cannot be parsed. */
  selector: string | null;
  /** The reason, as a sentence. */
  detail: string;
}

/** The result of DMARC (RFC 9989, which replaces RFC 7489). */
export interface DmarcCheck {
  /** The result. */
  result: "pass" | "fail" | "softfail" | "neutral" | "none" | "temperror" | "permerror";
  /** The domain of the From field; null without one. */
  domain: string | null;
  /** The policy for mail that fails; null without a record. */
  policy: "none" | "quarantine" | "reject" | null;
  /** Whether SPF passes for this domain or one of the same organisation. */
  spfAligned: boolean;
  /** Whether a DKIM signature of this domain, or of one of the same organisation, passes. */
  dkimAligned: boolean;
  /** The reason, as a sentence. */
  detail: string;
}

/** SPF, DKIM and DMARC of a message, with the present records of the DNS. */
export interface Authentication {
  /** Whether the client may send for the domain of the envelope sender. */
  spf: SpfCheck;
  /** The DKIM signatures. At most 10 are verified. */
  dkim: DkimCheck[];
  /** Whether SPF or a signature passes for the domain of the From field. */
  dmarc: DmarcCheck;
}

/** The results of the checks of a message. */
export interface MessageChecks {
  /** The problems, the errors first. At most 20 of each check are listed. */
  problems: Problem[];
  /** How many mail clients support the HTML; null without HTML. */
  html: HtmlSupport | null;
  /** SPF, DKIM and DMARC; null unless the request has `dns=true`. */
  authentication: Authentication | null;
}
