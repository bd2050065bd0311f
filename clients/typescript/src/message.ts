/** A message that an inbox received. */

import { blameCaller, callSite, ContentError } from "./errors.js";
import type { Http } from "./http.js";
import type { Attachment, MessageDetails, MessageFields, OutgoingMessage, Sent } from "./types.js";

/** Selects a link: a text that it contains, a regular expression, or a function that returns true for it. */
export type LinkMatch = string | RegExp | ((url: string) => boolean);

/** The part of a Playwright page that {@link Message.openIn} uses. */
export interface PageLike {
  /** Answers a request of the page. */
  route(
    url: string,
    handler: (route: {
      fulfill(answer: { contentType: string; headers: Record<string, string>; body: string }): Promise<void>;
    }) => Promise<void>,
    options: { times: number },
  ): Promise<unknown>;
  /** Opens an address. */
  goto(url: string): Promise<unknown>;
}

/** Blocks what a mail client blocks: scripts and remote content. */
const PAGE_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; form-action 'none'";

/** The form of links in the server's page, which cannot be followed in a report or a dashboard. */
const DISARMED_LINK = / href="#" title="(https?:[^"]*)"/g;

/** A message that an inbox received, with its text, HTML, links and one-time code. */
export class Message implements Omit<MessageFields, "receivedAt"> {
  /** The identifier, also used as a cursor: `{ after: message }`. */
  readonly id: string;
  /** The inbox it is in. */
  readonly inboxId: string;
  /** The sender's address, without a name. */
  readonly from: string;
  /** The recipient's address: that of the inbox. */
  readonly to: string;
  readonly subject: string;
  /** The plain text; for a message that has only HTML, the HTML as text. */
  readonly text: string;
  /** The HTML, or an empty string. */
  readonly html: string;
  /** Every link, in order. */
  readonly links: string[];
  /** The one-time code, or an empty string; {@link Message.code} fails instead. */
  readonly otp: string;
  readonly receivedAt: Date;
  readonly #http: Http;

  /** @internal */
  constructor(http: Http, fields: MessageFields) {
    this.#http = http;
    this.id = fields.id;
    this.inboxId = fields.inboxId;
    this.from = fields.from;
    this.to = fields.to;
    this.subject = fields.subject;
    this.text = fields.text;
    this.html = fields.html;
    this.links = fields.links;
    this.otp = fields.otp;
    this.receivedAt = new Date(fields.receivedAt);
  }

  /**
   * The one-time code.
   * @throws {@link ContentError} with the message's text if it has none.
   */
  code(): string {
    if (this.otp !== "") return this.otp;
    const error = new ContentError(`${named(this)} has no one-time code. Its text:\n${indented(excerpt(this.text))}`);
    throw blameCaller(error, callSite(this.code));
  }

  /**
   * The only link, or the only one that matches.
   * @throws {@link ContentError} with all links if there is none or more than one.
   */
  link(match?: LinkMatch): string {
    const found = this.links.filter((url) => isMatch(url, match));
    const [link] = found;
    if (link !== undefined && found.length === 1) return link;
    const wanted =
      match === undefined ? "" : ` that match ${typeof match === "string" ? JSON.stringify(match) : String(match)}`;
    const count = found.length === 0 ? "no links" : `${found.length} links`;
    const all = this.links.length === 0 ? "It has no links." : `Its links:\n${indented(this.links.join("\n"))}`;
    const error = new ContentError(`${named(this)} has ${count}${wanted}, but exactly one is needed. ${all}`);
    throw blameCaller(error, callSite(this.link));
  }

  /** All details of the message: envelope, headers, parts, how the code was recognised. */
  details(): Promise<MessageDetails> {
    return this.#http.json({ method: "GET", path: `${this.#path}/details` }, "attachments");
  }

  /** The attachments, with their bytes. */
  async attachments(): Promise<Attachment[]> {
    const { attachments } = await this.details();
    return Promise.all(
      attachments.map(async (attachment) => {
        const path = `${this.#path}/attachments/${attachment.index}`;
        return { ...attachment, content: await this.#http.bytes({ method: "GET", path }) };
      }),
    );
  }

  /** The bytes of the message as received. */
  raw(): Promise<Buffer> {
    return this.#http.bytes({ method: "GET", path: `${this.#path}/raw` });
  }

  /** The message as a page: its HTML with embedded images, or its text. */
  async page(): Promise<string> {
    return (await this.#http.bytes({ method: "GET", path: `${this.#path}/page` })).toString();
  }

  /** Replies to the message from its inbox. */
  reply(answer: Partial<Pick<OutgoingMessage, "subject" | "text" | "html">>): Promise<Sent> {
    const subject = answer.subject ?? (/^re:/i.test(this.subject) ? this.subject : `Re: ${this.subject}`);
    const body = { to: this.from, ...answer, subject, in_reply_to: this.id };
    return this.#http.json({ method: "POST", path: `/inboxes/${this.inboxId}/messages`, body }, "id");
  }

  /** Deletes the message. It remains valid as a cursor. */
  async delete(): Promise<void> {
    await this.#http.bytes({ method: "DELETE", path: this.#path });
  }

  /** Shows the message in a Playwright page, as a mail client would: without scripts and remote images, with links. */
  async openIn(page: PageLike): Promise<void> {
    const body = (await this.page()).replace(DISARMED_LINK, ' href="$1"');
    const url = `${this.#http.url}/v1${this.#path}/page`;
    const answer = {
      contentType: "text/html; charset=utf-8",
      headers: { "Content-Security-Policy": PAGE_POLICY },
      body,
    };
    await page.route(url, (route) => route.fulfill(answer), { times: 1 });
    await page.goto(url);
  }

  get #path(): string {
    return `/messages/${encodeURIComponent(this.id)}`;
  }
}

/**
 * Whether a link is selected.
 * @internal
 */
export function isMatch(url: string, match: LinkMatch | undefined): boolean {
  if (match === undefined) return true;
  if (typeof match === "string") return url.includes(match);
  return match instanceof RegExp ? url.search(match) !== -1 : match(url);
}

function named(message: Message): string {
  return `The message ${JSON.stringify(message.subject)} from ${message.from}`;
}

function excerpt(text: string): string {
  return text.length <= 2_000 ? text : `${text.slice(0, 2_000)}…`;
}

function indented(text: string): string {
  return text.replace(/^/gm, "    ");
}
