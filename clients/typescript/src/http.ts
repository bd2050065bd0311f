/// <reference types="node" preserve="true" />
/** Requests to the server: the key, time limits, retries, and the error for each response. */

import { readFileSync } from "node:fs";
import { buffer } from "node:stream/consumers";
import { URLSearchParams } from "node:url";

import { InvalidRequestError, NotFoundError, RestanteError, UnauthorizedError, UnreachableError } from "./errors.js";
import { abortController, now, send, sleep } from "./runtime.js";
import { fromWire } from "./types.js";

/** The time limit of a request is this much longer than the timeout that is sent to the server. */
const GRACE = 10_000;
/** Requests that are not waits are retried for at most this long. */
const MAX_RETRY_MS = 10_000;
/** Statuses that a proxy in front of the server gives with its own text. */
const OF_PROXIES = new Set([413, 429, 502, 503, 504]);
/** The error of 429 that does not pass. */
const FULL = "recipient inbox is full";
const MIN_PAUSE_MS = 50;
const MAX_PAUSE_MS = 1_000;
/** The codes of a failed connection attempt, in which nothing has reached the server. */
const NOT_CONNECTED = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH"]);

/** One request. */
export interface Request {
  method: "GET" | "POST" | "PUT" | "DELETE";
  path: string;
  query?: Record<string, string | undefined>;
  body?: unknown;
  headers?: Record<string, string>;
  /** How long the server may keep it open, in milliseconds. */
  held?: number;
}

/** The result of one attempt. */
export interface Outcome {
  /** The status of the response; 0 if there was none. */
  status: number;
  body: Buffer;
  /** Milliseconds, from `Retry-After`. */
  retryAfter?: number;
  /** The page that explains the response, from `Link`. */
  help?: string;
  /** Without a response: whether the request may have reached the server, and the cause. */
  sent?: boolean;
  cause?: NodeJS.ErrnoException;
}

/** The connection to one server with one key. */
export class Http {
  readonly url: string;
  readonly #headers: Record<string, string>;
  readonly #retryMs: number;
  readonly #log: string | undefined;
  readonly #closed = abortController();

  /** `log`: the log file of the server, if it was started for this run. */
  constructor(url: string, apiKey: string, timeout: number, log?: string) {
    this.url = url.replace(/\/+$/, "");
    this.#log = log;
    this.#headers = { Authorization: `Bearer ${apiKey}` };
    this.#retryMs = Math.min(MAX_RETRY_MS, timeout);
  }

  /** Whether the server was started for this run and stops with it. */
  get endsWithRun(): boolean {
    return this.#log !== undefined;
  }

  /** Cancels the open requests and pauses, and rejects later requests. */
  close(): void {
    this.#closed.abort();
  }

  /** The JSON of a successful response, which has these fields, with JavaScript field names. */
  async json<T>(request: Request, ...fields: (keyof T & string)[]): Promise<T> {
    return this.decoded<T>(request, await this.bytes(request), ...fields);
  }

  /** The JSON of a body. Another server that answers at this address has other fields, or no JSON. */
  decoded<T>(request: Request, body: Buffer, ...fields: (keyof T & string)[]): T {
    const value = parsed(body);
    if (typeof value !== "object" || value === null || !fields.every((field) => field in value)) {
      throw this.#foreign(request, body);
    }
    return value as T;
  }

  /** The bytes of a successful response. Requests that may be repeated are retried. */
  async bytes(request: Request): Promise<Buffer> {
    const { outcome, isRepeated } = await this.repeated(() => request, now() + this.#retryMs);
    // An earlier attempt has deleted it.
    const isGone = isRepeated && request.method === "DELETE" && outcome.status === 404;
    if (isSuccess(outcome) || isGone) return outcome.body;
    throw this.error(request, outcome);
  }

  /**
   * Sends a request, and repeats it until there is a final answer or the deadline has passed. Each pause is as long as
   * the server requests, or a tenth of the time so far, within limits, with jitter.
   */
  async repeated(
    next: () => Request,
    deadline: number,
  ): Promise<{ request: Request; outcome: Outcome; isRepeated: boolean }> {
    const start = now();
    for (let isRepeated = false; ; isRepeated = true) {
      const request = next();
      const outcome = await this.#attempt(request);
      const time = now();
      if (!mayRepeat(request, outcome) || time >= deadline) return { request, outcome, isRepeated };
      const growing = Math.min(Math.max((time - start) / 10, MIN_PAUSE_MS), MAX_PAUSE_MS);
      const pause = outcome.retryAfter ?? growing * (0.5 + Math.random() / 2);
      await sleep(Math.min(pause, deadline - time), this.#closed.signal).catch(() => undefined);
    }
  }

  async #attempt(request: Request): Promise<Outcome> {
    const { method, path, query, body, held = 0 } = request;
    const type = body === undefined ? {} : { "Content-Type": "application/json" };
    const headers = { ...this.#headers, ...request.headers, ...type };
    const options = { method, headers, timeout: held + GRACE, signal: this.#closed.signal };
    this.#throwIfClosed();
    try {
      const answer = await send(`${this.url}/v1${path}${encoded(query)}`, options, JSON.stringify(body));
      const seconds = Number(answer.headers["retry-after"] ?? Number.NaN);
      const retryAfter = Number.isFinite(seconds) ? { retryAfter: seconds * 1000 } : {};
      const help = helpOf(String(answer.headers.link));
      return { status: answer.statusCode ?? 0, body: await buffer(answer), ...retryAfter, ...help };
    } catch (error) {
      this.#throwIfClosed();
      const cause = error as NodeJS.ErrnoException;
      return { status: 0, body: Buffer.alloc(0), sent: !NOT_CONNECTED.has(cause.code ?? ""), cause };
    }
  }

  /** The error for a failed attempt. */
  error(request: Request, outcome: Outcome): RestanteError {
    const { status } = outcome;
    if (status === 0) return this.#unreachable(outcome.cause);
    if (errorOf(outcome.body) === undefined && !OF_PROXIES.has(status))
      return this.#foreign(request, outcome.body, status);
    const words = wordsOf(outcome);
    const target = `${request.method} /v1${request.path}${encoded(request.query)}`;
    const remedy = REMEDIES.get(words);
    const text = `${target}: ${status} ${words}${remedy === undefined ? "" : `. ${remedy}`}`;
    switch (status) {
      case 400:
      case 413:
        return new InvalidRequestError(text, { status });
      case 401:
        return new UnauthorizedError(`${text}. ${this.url} ${KEY_HELP}`, { status });
      case 404:
        return new NotFoundError(text, { status });
      default:
        return new RestanteError(text, { status });
    }
  }

  #unreachable(cause: Outcome["cause"]): UnreachableError {
    const { code = "", message = "" } = cause ?? {};
    // The error of several addresses has no text.
    const reason = message || code;
    if (this.#log !== undefined) {
      const text = `The server of this run does not answer at ${this.url} (${reason}). ${lastLines(this.#log)}`;
      return new UnreachableError(text, { cause });
    }
    if (code.startsWith("HPE_") || code === "ECONNRESET") {
      const text = `${this.url} accepts connections, but gives no HTTP response (${reason}). Is RESTANTE_URL right?`;
      return new UnreachableError(`${text} ${HTTP_NOT_SMTP}`, { cause });
    }
    return new UnreachableError(
      `Cannot connect to Restante at ${this.url} (${reason}). Start it with \`npx restante serve\` and set ` +
        "RESTANTE_URL to the address that it prints, or unset RESTANTE_URL to start a server for the run.",
      { cause },
    );
  }

  #foreign({ method, path }: Request, body: Buffer, status?: number): UnreachableError {
    const found = body.length === 0 ? "nothing" : body.toString().slice(0, 200);
    const answer = status === undefined ? found : `${status} ${found}`;
    return new UnreachableError(
      `Another server than Restante answers at ${this.url}. It answered ${method} /v1${path} with ${answer}\n` +
        "Is RESTANTE_URL right?",
      status === undefined ? {} : { status },
    );
  }

  #throwIfClosed(): void {
    if (this.#closed.signal.aborted) throw new RestanteError(CLOSED);
  }
}

const CLOSED = "The client was closed.";
const HTTP_NOT_SMTP = "It is the address for HTTP, not that for SMTP.";
const NO_LOG = "(none, as after kill -9, or if the memory was exhausted)";
/** How much of the log an error shows, in characters. */
const LOG_TAIL = 2_000;

/** The end of a log, as a sentence. */
export function lastLines(log: string): string {
  try {
    return `Its last log lines:\n${readFileSync(log, "utf8").slice(-LOG_TAIL).trim() || NO_LOG}`;
  } catch {
    return `Its log is gone: ${log}`;
  }
}

const KEY_HELP =
  "does not accept the API key: set RESTANTE_API_KEY to a key of this server. `restante serve` prints one at its " +
  "first start.";

/** What to do about some errors of the server, by their texts. */
const REMEDIES = new Map([
  ["inbox not found", "It was never created, has expired or was deleted, or belongs to another key."],
  ["message not found", "It was deleted, its inbox has expired, or it belongs to another key."],
  ["recipient not found", "No inbox has this address now: create it first."],
  ["domain not accepted", "Start the server with --accept-domains and this domain."],
  ["invalid after", "Pass the id of a message that is or was in this inbox."],
  ["invalid field: at", "It is rcpt or data; bounce, drop and duplicate are only at data."],
  ["invalid field: reply", "It is one line such as 451 4.7.1 Come back later: 4xx with defer, 5xx with reject."],
]);

/** Whether the attempt succeeded. */
export function isSuccess({ status }: Outcome): boolean {
  return status >= 200 && status < 300;
}

/** The server's text for an error; for an answer of something else, the start of that. */
export function wordsOf({ body }: Outcome): string {
  return errorOf(body) ?? body.toString().slice(0, 200);
}

/** Whether the answer is an error of Restante, and not of something between. */
export function isOurs({ body }: Outcome): boolean {
  return errorOf(body) !== undefined;
}

/** The text in the JSON of an error. */
function errorOf(body: Buffer): string | undefined {
  const value = parsed(body);
  if (typeof value !== "object" || value === null || !("error" in value)) return undefined;
  return typeof value.error === "string" ? value.error : undefined;
}

/** The JSON with JavaScript field names; undefined if it is none. */
function parsed(body: Buffer): unknown {
  try {
    return fromWire(JSON.parse(body.toString()));
  } catch {
    return undefined;
  }
}

/** What may not be done twice may be repeated only if the server cannot have carried it out. */
function mayRepeat(request: Request, outcome: Outcome): boolean {
  if (outcome.status === 0) return mayBeDoneTwice(request) || outcome.sent === false;
  if (outcome.status === 429) return wordsOf(outcome) !== FULL;
  return outcome.status === 503 && mayBeDoneTwice(request);
}

/** Everything but sending. An inbox that was created twice is one that nobody uses, and expires. */
function mayBeDoneTwice({ method, path }: Request): boolean {
  return method !== "POST" || path === "/inboxes";
}

function encoded(query: Record<string, string | undefined> = {}): string {
  const given = Object.entries(query).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return given.length === 0 ? "" : `?${new URLSearchParams(given).toString()}`;
}

/** The address in a header `Link` with `rel="help"`. */
function helpOf(link: string): { help?: string } {
  const url = /<(https?:[^>]+)>;\s*rel="?help"?/.exec(link)?.[1];
  return url === undefined ? {} : { help: url };
}
