/** The client of one server. */

import { RestanteError } from "./errors.js";
import { Http } from "./http.js";
import { Inbox, listed, type Connection, type WaitHooks } from "./inbox.js";
import { Message } from "./message.js";
import { printOpen } from "./open.js";
import { logOfRun, startServer, type Server, type ServerAddress } from "./server.js";
import {
  checkedKey,
  DEFAULT_DOMAIN,
  given,
  namedMailpitUrl,
  serverUrl,
  smtpAddress,
  variable,
  waitTimeout,
  type RestanteOptions,
} from "./settings.js";
import { testHooks, watchRunner } from "./tests.js";
import { totp } from "./totp.js";
import type { InboxFields, MessageFields, SmtpAddress } from "./types.js";

const LABEL = "X-Restante-Label";
/** The server keeps this many characters. */
const MAX_LABEL_CHARACTERS = 200;

/** A header has only ASCII. The buffer replaces half a surrogate pair, which cannot be encoded. */
function labelHeader(label: string | undefined): Record<string, string> {
  if (label === undefined) return {};
  return { [LABEL]: encodeURIComponent(Buffer.from(label.slice(0, MAX_LABEL_CHARACTERS)).toString()) };
}

/** A client of a Restante server. {@link Restante.connect} creates one. */
export class Restante implements AsyncDisposable {
  /** The server's address. */
  readonly url: string;
  /** The SMTP server for the application under test. */
  readonly smtp: SmtpAddress;
  /** The domain of every inbox. */
  readonly mailDomain: string;
  /** The base URL for a test helper of Mailpit. */
  readonly mailpitUrl: string;
  readonly #connection: Connection;
  readonly #server: Server | undefined;

  private constructor(address: Omit<ServerAddress, "apiKey">, connection: Connection, server?: Server) {
    this.url = address.url;
    this.smtp = address.smtp;
    this.mailDomain = address.mailDomain;
    this.mailpitUrl = address.mailpitUrl;
    this.#connection = connection;
    this.#server = server;
  }

  /** Connects to the server of the options or the environment, or starts a server for this client. */
  static connect(options: RestanteOptions = {}): Promise<Restante> {
    watchRunner();
    return Restante.connectWith(options, testHooks);
  }

  /** @internal */
  static async connectWith(options: RestanteOptions, hooks: WaitHooks): Promise<Restante> {
    const timeout = waitTimeout(options.timeout);
    const url = given(options.url) ?? variable("RESTANTE_URL");
    const named = given(options.apiKey);
    if (url === undefined) {
      const server = await startServer(named === undefined ? {} : { apiKey: checkedKey(named) });
      const http = new Http(server.url, server.apiKey, timeout, server.log);
      return new Restante(server, { http, timeout, hooks }, server);
    }
    const { href } = serverUrl(url);
    const smtp = options.smtp ?? smtpAddress(href);
    const apiKey = named ?? variable("RESTANTE_API_KEY");
    if (apiKey === undefined) {
      throw new RestanteError(`RESTANTE_API_KEY is not set. The server at ${url} printed a key at its first start.`);
    }
    const mailDomain = given(options.mailDomain) ?? variable("RESTANTE_MAIL_DOMAIN") ?? DEFAULT_DOMAIN;
    const http = new Http(url, checkedKey(apiKey), timeout, logOfRun(url));
    const address = { url, smtp, mailDomain, mailpitUrl: namedMailpitUrl(url) };
    return new Restante(address, { http, timeout, hooks });
  }

  /** Creates a temporary inbox. `label` is shown in the dashboard and in errors, for example the title of the test. */
  async createInbox({ label }: { label?: string | undefined } = {}): Promise<Inbox> {
    const request = { method: "POST", path: "/inboxes", headers: labelHeader(label) } as const;
    return new Inbox(this.#connection, await this.#connection.http.json(request, "id", "address"), { label });
  }

  /**
   * The inbox with an address that the application already has, such as that of a seeded user. It is created if the
   * project has none; a temporary one lives for one more full lifetime. The first wait starts after the newest message
   * that is there now, so it does not return mail of an earlier test. `label` is shown as for {@link createInbox}, and
   * replaces an earlier one.
   * @throws {@link InvalidRequestError} if the server does not accept mail for the domain.
   */
  async inboxFor(address: string, { label }: { label?: string | undefined } = {}): Promise<Inbox> {
    const { http } = this.#connection;
    const path = `/inboxes/${encodeURIComponent(address)}`;
    const put = { method: "PUT", path, headers: labelHeader(label) } as const;
    const fields = await http.json<InboxFields>(put, "id", "address");
    const [newest] = await listed(http, fields.id, { limit: "1" });
    return new Inbox(this.#connection, fields, { label, after: newest?.id });
  }

  /**
   * The inbox with this id or address.
   * @throws {@link NotFoundError}
   */
  async inbox(idOrAddress: string): Promise<Inbox> {
    const { http } = this.#connection;
    return this.#inbox(
      idOrAddress.includes("@")
        ? await http.json({ method: "GET", path: "/inboxes", query: { address: idOrAddress } }, "id", "address")
        : await http.json({ method: "GET", path: `/inboxes/${encodeURIComponent(idOrAddress)}` }, "id", "address"),
    );
  }

  /**
   * The message with this id.
   * @throws {@link NotFoundError}
   */
  async message(id: string): Promise<Message> {
    const { http } = this.#connection;
    const request = { method: "GET", path: `/messages/${encodeURIComponent(id)}` } as const;
    return Message.read(http, await http.json<MessageFields>(request, "id", "links"));
  }

  /**
   * The code that an authenticator app shows for a secret, for a second factor; see the function {@link totp}.
   * @throws {@link RestanteError}
   */
  totp(secret: string): Promise<string> {
    return totp(secret);
  }

  /** Whether the server answers. */
  health(): Promise<{ status: string }> {
    return this.#connection.http.json({ method: "GET", path: "/health" }, "status");
  }

  /** Cancels the waits of this client, and stops the server if it was started for this client. */
  async close(): Promise<void> {
    // A test that a runner has ended has no error of its wait.
    await printOpen("the client was closed", this.#connection);
    this.#connection.http.close();
    await this.#server?.stop();
  }

  /** Closes the client at the end of an `await using` block. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #inbox(fields: InboxFields): Inbox {
    return new Inbox(this.#connection, fields);
  }
}
