/** The errors of the client. Each is a {@link RestanteError}, and none shows the API key. */

import type { Explanation } from "./types.js";
import type { Filters } from "./filters.js";
import type { Message } from "./message.js";

/** The base class of all errors of the client. */
export class RestanteError extends Error {
  /** The HTTP status, if the error is a response of the server. */
  readonly status: number | undefined;

  constructor(message: string, options: { status?: number; cause?: unknown } = {}) {
    super(message, "cause" in options ? { cause: options.cause } : undefined);
    this.name = new.target.name;
    this.status = options.status;
  }
}

/** No matching message arrived in time. The text lists what arrived, what was rejected, and the server's reason. */
export class WaitTimeoutError extends RestanteError {
  /** The filters of the wait. */
  readonly filters: Filters;
  /** How long the wait lasted, in milliseconds. */
  readonly waited: number;
  /** The server's explanation; undefined if it could not be read. */
  readonly explanation: Explanation | undefined;
  /** The page about this wait in the dashboard: why it failed, and what happened meanwhile. */
  readonly link: string | undefined;

  /**
   * The server's explanation with what has happened since: the message may have arrived.
   * @internal
   */
  readonly explainNow: () => Promise<Explanation | undefined>;

  constructor(
    message: string,
    details: Pick<WaitTimeoutError, "filters" | "waited" | "explanation" | "link"> & {
      explainNow?: () => Promise<Explanation | undefined>;
    },
  ) {
    super(message);
    this.filters = details.filters;
    this.waited = details.waited;
    this.explanation = details.explanation;
    this.link = details.link;
    this.explainNow = details.explainNow ?? (() => Promise.resolve(details.explanation));
  }
}

/** A message arrived although none was expected. */
export class UnexpectedMessageError extends RestanteError {
  /** The message that arrived. */
  readonly received: Message;

  constructor(text: string, received: Message) {
    super(text);
    this.received = received;
  }
}

/** A message does not have exactly one code, or exactly one link that matches. The error shows what it has. */
export class ContentError extends RestanteError {}

/** There is no such inbox or message, or it belongs to another key, or the inbox has ended. */
export class NotFoundError extends RestanteError {}

/** The API key is missing or wrong. */
export class UnauthorizedError extends RestanteError {}

/** The server does not accept the request: an unknown field, a cursor of another inbox, a bad address. */
export class InvalidRequestError extends RestanteError {}

/** The server cannot be reached, or could not be started. */
export class UnreachableError extends RestanteError {}

/**
 * The stack of the caller of a method.
 * @internal
 */
export function callSite(method: (...parameters: never[]) => unknown): { stack?: string } {
  const site: { stack?: string } = {};
  Error.captureStackTrace(site, method);
  return site;
}

/**
 * Replaces the stack of an error with that of a call, so that a report shows the line of the test.
 * @internal
 */
export function blameCaller<E extends Error>(error: E, site: { stack?: string }): E {
  const frames = site.stack?.slice(site.stack.indexOf("\n") + 1);
  if (frames !== undefined) error.stack = `${error.name}: ${error.message}\n${frames}`;
  return error;
}
