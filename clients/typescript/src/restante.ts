/** The client of one server. */

import { RestanteError } from "./errors.js";
import { Http } from "./http.js";
import { Inbox, type Connection, type WaitHooks } from "./inbox.js";
import { startServer, type Server } from "./launch.js";
import { Message } from "./message.js";
import { smtpAddress, variable, waitTimeout, type RestanteOptions } from "./settings.js";
import type { InboxFields, MessageFields, SmtpAddress } from "./types.js";

const NO_HOOKS: WaitHooks = { limit: (timeout) => timeout, run: (_title, _site, wait) => wait() };

/** A client of a Restante server. {@link Restante.connect} creates one. */
export class Restante implements AsyncDisposable {
  /** The server's address. */
  readonly url: string;
  /** The SMTP server for the application under test. */
  readonly smtp: SmtpAddress;
  /** The domain of every inbox. */
  readonly mailDomain: string;
  readonly #connection: Connection;
  readonly #server: Server | undefined;

  private constructor(url: string, smtp: SmtpAddress, mailDomain: string, connection: Connection, server?: Server) {
    this.url = url;
    this.smtp = smtp;
    this.mailDomain = mailDomain;
    this.#connection = connection;
    this.#server = server;
  }

  /** Connects to the server of the options or the environment, or starts a server for this client. */
  static connect(options: RestanteOptions = {}): Promise<Restante> {
    return Restante.connectWith(options, NO_HOOKS);
  }

  /** @internal */
  static async connectWith(options: RestanteOptions, hooks: WaitHooks): Promise<Restante> {
    const timeout = waitTimeout(options.timeout);
    const url = options.url ?? variable("RESTANTE_URL");
    if (url === undefined) {
      const server = await startServer();
      const http = new Http(server.url, options.apiKey ?? server.apiKey, timeout);
      return new Restante(server.url, server.smtp, server.mailDomain, { http, timeout, hooks }, server);
    }
    const apiKey = options.apiKey ?? variable("RESTANTE_API_KEY");
    if (apiKey === undefined) {
      throw new RestanteError(`RESTANTE_API_KEY is not set. The server at ${url} printed a key at its first start.`);
    }
    const smtp = options.smtp ?? smtpAddress(url);
    const mailDomain = options.mailDomain ?? variable("RESTANTE_MAIL_DOMAIN") ?? "restante.test";
    return new Restante(url, smtp, mailDomain, { http: new Http(url, apiKey, timeout), timeout, hooks });
  }

  /** Creates a temporary inbox. */
  async createInbox(): Promise<Inbox> {
    return this.#inbox(await this.#connection.http.json({ method: "POST", path: "/inboxes" }));
  }

  /**
   * The inbox with this id or address.
   * @throws {@link NotFoundError}
   */
  async inbox(idOrAddress: string): Promise<Inbox> {
    const { http } = this.#connection;
    return this.#inbox(
      idOrAddress.includes("@")
        ? await http.json({ method: "GET", path: "/inboxes", query: { address: idOrAddress } })
        : await http.json({ method: "GET", path: `/inboxes/${encodeURIComponent(idOrAddress)}` }),
    );
  }

  /**
   * The message with this id.
   * @throws {@link NotFoundError}
   */
  async message(id: string): Promise<Message> {
    const { http } = this.#connection;
    return new Message(
      http,
      await http.json<MessageFields>({ method: "GET", path: `/messages/${encodeURIComponent(id)}` }),
    );
  }

  /** Whether the server answers. */
  health(): Promise<{ status: string }> {
    return this.#connection.http.json({ method: "GET", path: "/health" });
  }

  /** Stops the server, if it was started for this client. */
  async close(): Promise<void> {
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
