/// <reference types="node" preserve="true" />
/** A message that an inbox received. */

import { failing, problemText, type CheckOptions } from "./checks.js";
import { blameCaller, callSite, ContentError, NotFoundError } from "./errors.js";
import type { Http } from "./http.js";
import { dashboardLine, dashboardUrl } from "./timeout.js";
import { globPattern, matchesText, type TextMatch } from "./match.js";
import type {
  Attachment,
  AttachmentInfo,
  Code,
  MessageChecks,
  MessageDetails,
  MessageFields,
  OutgoingMessage,
  Sent,
} from "./types.js";

/**
 * Selects a link: a text that its address contains, a regular expression, a function that returns true for the address,
 * or `{ text }`, the words that are shown for it.
 */
export type LinkMatch = string | RegExp | ((url: string) => boolean) | { text: TextMatch };

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
  /**
   * Labelled digits, or else the first six-digit number, which may be no code; or an empty string.
   * {@link Message.code} is never a number without a label.
   */
  readonly otp: string;
  readonly receivedAt: Date;
  readonly #http: Http;
  /** Undefined if it could not be read. */
  readonly #details: MessageDetails | undefined;

  /** @internal */
  constructor(http: Http, fields: MessageFields, details?: MessageDetails) {
    this.#http = http;
    this.#details = details;
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
   * A message with its details, which {@link Message.code} and the texts of links need.
   * @internal
   */
  static async read(http: Http, fields: MessageFields): Promise<Message> {
    const request = { method: "GET", path: `/messages/${encodeURIComponent(fields.id)}/details` } as const;
    const details = http.json<MessageDetails>(request, "codes", "links").catch((error: unknown) => {
      // It was deleted in the meantime. Any other failure must not look like a message that does not match.
      if (error instanceof NotFoundError) return undefined;
      throw error;
    });
    return new Message(http, fields, await details);
  }

  /**
   * The code that a person would type: labelled digits, or a labelled code with letters such as `LZDG-RMHF`. If the
   * message has several different ones, `matching` chooses: a text or a regular expression for the code or its line.
   * @throws {@link ContentError} with the message's text and numbers if it has none, or with all codes if it has more.
   */
  code({ matching }: { matching?: TextMatch } = {}): string {
    const found = this.#codes(matching);
    const [code] = found;
    if (code !== undefined && found.length === 1) return code.code;
    throw blameCaller(this.#contentError(this.#codeProblem(found, matching)), callSite(this.code));
  }

  /**
   * The labelled codes, of which {@link Message.code} returns the only one.
   * @internal
   */
  labelledCodes(): string[] {
    return this.#codes(undefined).map(({ code }) => code);
  }

  #codes(matching: TextMatch | undefined): Code[] {
    const codes = this.#details?.codes ?? [];
    if (matching === undefined) return codes;
    return codes.filter(({ code, line }) => matchesText(code, matching) || matchesText(line, matching));
  }

  #codeProblem(found: Code[], matching: TextMatch | undefined): string {
    if (this.#details === undefined)
      return `${named(this)} was deleted before its codes could be read, or the server is too old.`;
    const all = this.#details.codes;
    const listed = indented(all.map(({ code, line }) => `${code} in the line: ${line}`).join("\n"));
    if (found.length > 1) {
      return `${named(this)} has ${found.length} codes. Choose one with code({ matching }):\n${listed}`;
    }
    if (all.length > 0) return `${named(this)} has no code that matches ${shown(matching)}, but:\n${listed}`;
    const numbers = [...new Set(this.text.match(/\b\d{4,10}\b/g) ?? [])].slice(0, 5);
    const seen = numbers.length === 0 ? "" : ` ${unlabelled(numbers)}`;
    return `${named(this)} has no code.${seen} Its text:\n${indented(excerpt(this.text))}`;
  }

  /**
   * The only link, or the only one that matches.
   * @throws {@link ContentError} with all links if there is none or more than one.
   */
  link(match?: LinkMatch): string {
    const found = this.matchingLinks(match);
    const [link] = found;
    if (link !== undefined && found.length === 1) return link;
    const wanted = match === undefined ? "" : ` that match ${shown(match)}`;
    const count = found.length === 0 ? "no links" : `${found.length} links`;
    const texts = this.#texts();
    const lines = this.links.map((url) => (texts.get(url) ? `${url} (${texts.get(url)})` : url));
    const all = lines.length === 0 ? "It has no links." : `Its links:\n${indented(lines.join("\n"))}`;
    const error = this.#contentError(`${named(this)} has ${count}${wanted}, but exactly one is needed. ${all}`);
    throw blameCaller(error, callSite(this.link));
  }

  /**
   * The links that are selected.
   * @internal
   */
  matchingLinks(match: LinkMatch | undefined): string[] {
    if (match === undefined) return this.links;
    if (typeof match === "function") return this.links.filter(match);
    if (typeof match === "string" || match instanceof RegExp) {
      return this.links.filter((url) => matchesText(url, match, "exact case"));
    }
    const texts = this.#texts();
    return this.links.filter((url) => matchesText(texts.get(url) ?? "", match.text));
  }

  /** The words that are shown for each link. */
  #texts(): Map<string, string> {
    return new Map((this.#details?.links ?? []).map(({ url, text }) => [url, text ?? ""]));
  }

  /**
   * The values of the header fields with this name.
   * @internal
   */
  fieldValues(name: string): string[] {
    const named = (this.#details?.headers ?? []).filter((field) => field.name.toLowerCase() === name.toLowerCase());
    return named.map(({ value }) => value);
  }

  /** All details of the message: envelope, headers, parts, how the code was recognised. */
  details(): Promise<MessageDetails> {
    return this.#http.json({ method: "GET", path: `${this.#path}/details` }, "attachments");
  }

  /** The attachments, with their bytes. */
  async attachments(): Promise<Attachment[]> {
    const { attachments } = await this.details();
    return Promise.all(attachments.map((attachment) => this.#withContent(attachment)));
  }

  /**
   * The only attachment, or the only one whose name matches: a name, where `*` stands for any characters, or a regular
   * expression.
   * @throws {@link ContentError} with all names if there is none or more than one.
   */
  async attachment(name?: string | RegExp): Promise<Attachment> {
    const site = callSite(this.attachment);
    const pattern = typeof name === "string" ? globPattern(name) : name;
    const { attachments } = await this.details();
    const found = attachments.filter(({ filename }) => !pattern || matchesText(filename ?? "", pattern));
    const [attachment] = found;
    if (attachment !== undefined && found.length === 1) return this.#withContent(attachment);
    const names = attachments.map(({ filename, contentType }) => `${filename ?? "without a name"} (${contentType})`);
    const count = found.length === 0 ? "no attachments" : `${found.length} attachments`;
    const wanted = name === undefined ? "" : ` that match ${shown(name)}`;
    const all = names.length === 0 ? "It has none." : `Its attachments:\n${indented(names.join("\n"))}`;
    throw blameCaller(
      this.#contentError(`${named(this)} has ${count}${wanted}, but exactly one is needed. ${all}`),
      site,
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

  /** The problems of the message: placeholders that are not filled, broken links, and more. */
  checks(): Promise<MessageChecks> {
    return this.#http.json({ method: "GET", path: `${this.#path}/checks` }, "problems");
  }

  /**
   * Checks that the message is good. Errors fail, and with `warnings` also what a good message may have.
   * @throws {@link ContentError} with each problem and its line.
   */
  async check(options: CheckOptions = {}): Promise<void> {
    const site = callSite(this.check);
    const found = failing(await this.checks(), options);
    if (found.length === 0) return;
    const count = found.length === 1 ? "a problem" : `${found.length} problems`;
    const error = this.#contentError(`${named(this)} has ${count}:\n${indented(found.map(problemText).join("\n"))}`);
    throw blameCaller(error, site);
  }

  /**
   * Forwards the message as it was received, from its inbox: for a look at it in a real mail client. The server must
   * be allowed to send mail.
   */
  forward(to: string): Promise<Sent> {
    return this.#http.json({ method: "POST", path: `${this.#path}/forward`, body: { to } }, "id");
  }

  /** Replies to the message from its inbox, the way a mail client does: to its Reply-To, if it has one. */
  async reply(answer: Partial<Pick<OutgoingMessage, "subject" | "text" | "html">>): Promise<Sent> {
    const { replyTo, from } = this.#details ?? (await this.details());
    const to = [...replyTo, ...from].find(({ address }) => address !== null)?.address ?? this.from;
    const subject = answer.subject ?? (/^re:/i.test(this.subject) ? this.subject : `Re: ${this.subject}`);
    const body = { to, ...answer, subject, in_reply_to: this.id };
    return this.#http.json(
      { method: "POST", path: `/inboxes/${encodeURIComponent(this.inboxId)}/messages`, body },
      "id",
    );
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

  #contentError(text: string): ContentError {
    return new ContentError(`${text}\n${dashboardLine(dashboardUrl(this.#http.url, this.inboxId))}`);
  }

  async #withContent(attachment: AttachmentInfo): Promise<Attachment> {
    const path = `${this.#path}/attachments/${attachment.index}`;
    return { ...attachment, content: await this.#http.bytes({ method: "GET", path }) };
  }

  get #path(): string {
    return `/messages/${encodeURIComponent(this.id)}`;
  }
}

/** What was asked for, in an error. */
function shown(match: LinkMatch | undefined): string {
  if (typeof match === "string") return JSON.stringify(match);
  return typeof match === "object" && "text" in match ? `the text ${shown(match.text)}` : String(match);
}

function unlabelled(numbers: string[]): string {
  return `Its numbers are not labelled as a code: ${numbers.join(", ")}. If one is the code, read it from the text.`;
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
