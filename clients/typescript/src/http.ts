/** Requests to the server: the key, time limits, which failures are tried again, and which error each answer is. */

import { InvalidRequestError, NotFoundError, RestanteError, UnauthorizedError, UnreachableError } from "./errors.js";
import { fromWire } from "./types.js";

/** A request's own time limit is this much longer than what the server is asked to wait. */
const GRACE = 10_000;
/** Requests that are not waits are tried again for at most so long. */
const PATIENCE = 10_000;
const SHORTEST_PAUSE = 50;
const LONGEST_PAUSE = 1_000;
/** What a failed connection attempt is called: nothing has reached the server. */
const NOT_CONNECTED = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "UND_ERR_CONNECT_TIMEOUT"]);

/** One request. */
export interface Request {
  method: "GET" | "POST" | "PUT" | "DELETE";
  path: string;
  query?: Record<string, string | undefined>;
  body?: unknown;
}

/** What became of one attempt. */
export interface Outcome {
  /** The status of the answer; 0 if there was none. */
  status: number;
  body: Buffer;
  /** Milliseconds, from `Retry-After`. */
  retryAfter?: number;
  /** Without an answer: whether the request may have reached the server, and what broke. */
  sent?: boolean;
  cause?: unknown;
}

/** The connection to one server with one key. */
export class Http {
  readonly url: string;
  readonly #headers: Record<string, string>;
  readonly #patience: number;

  constructor(url: string, apiKey: string, timeout: number) {
    this.url = url.replace(/\/+$/, "");
    this.#headers = { Authorization: `Bearer ${apiKey}` };
    this.#patience = Math.min(PATIENCE, timeout);
  }

  /** The JSON of a successful answer, with the field names of JavaScript. */
  async json<T>(request: Request): Promise<T> {
    return decoded(await this.bytes(request)) as T;
  }

  /** The bytes of a successful answer. What may be tried again is tried again. */
  async bytes(request: Request): Promise<Buffer> {
    const pauses = new Pauses(performance.now() + this.#patience);
    for (;;) {
      const outcome = await this.attempt(request);
      if (isSuccess(outcome)) return outcome.body;
      if (!mayRepeat(request, outcome) || !(await pauses.next(outcome))) throw this.error(request, outcome);
    }
  }

  /** One attempt; `held` is how long the server is asked to hold the request, in milliseconds. */
  async attempt(request: Request, held = 0): Promise<Outcome> {
    const { method, path, query, body } = request;
    const init: RequestInit = { method, headers: this.#headers, signal: AbortSignal.timeout(held + GRACE) };
    if (body !== undefined) {
      init.body = JSON.stringify(body);
      init.headers = { ...this.#headers, "Content-Type": "application/json" };
    }
    try {
      const answer = await fetch(`${this.url}/v1${path}${encoded(query)}`, init);
      const seconds = Number(answer.headers.get("Retry-After") ?? Number.NaN);
      const retryAfter = Number.isFinite(seconds) ? { retryAfter: seconds * 1000 } : {};
      return { status: answer.status, body: Buffer.from(await answer.arrayBuffer()), ...retryAfter };
    } catch (cause) {
      return { status: 0, body: Buffer.alloc(0), sent: !NOT_CONNECTED.has(codeOf(cause)), cause };
    }
  }

  /** The error that a failed attempt is. */
  error({ method, path }: Request, outcome: Outcome): RestanteError {
    const { status } = outcome;
    const text = `${method} /v1${path}: ${status} ${wordsOf(outcome)}`;
    switch (status) {
      case 0:
        return unreachable(this.url, outcome.cause);
      case 400:
      case 413:
        return new InvalidRequestError(text, { status });
      case 401:
        return new UnauthorizedError(`${text}. ${KEY_HELP}`, { status });
      case 404:
        return new NotFoundError(text, { status });
      default:
        return new RestanteError(text, { status });
    }
  }
}

const KEY_HELP =
  "Is RESTANTE_API_KEY the key of a project of this server? `restante serve` prints one at its first start.";

function unreachable(url: string, cause: unknown): UnreachableError {
  const reason = codeOf(cause) || String(cause);
  return new UnreachableError(
    `Restante does not answer at ${url} (${reason}). Start it with \`npx restante serve\` and set RESTANTE_URL to ` +
      "the address that it prints, or leave RESTANTE_URL unset: then a server is started for the run.",
    { cause },
  );
}

/** Growing, jittered pauses until a deadline: each is a tenth of the time so far, so that nothing is late by more. */
export class Pauses {
  readonly #start = performance.now();
  readonly #deadline: number;

  constructor(deadline: number) {
    this.#deadline = deadline;
  }

  /** Pauses, as long as the server asks for; false without a pause if the deadline has passed. */
  async next(outcome?: Outcome): Promise<boolean> {
    const now = performance.now();
    const left = this.#deadline - now;
    if (left <= 0) return false;
    const growing = Math.min(Math.max((now - this.#start) / 10, SHORTEST_PAUSE), LONGEST_PAUSE);
    const pause = outcome?.retryAfter ?? growing * (0.5 + Math.random() / 2);
    await new Promise((resolve) => setTimeout(resolve, Math.min(pause, left)));
    return true;
  }
}

/** Whether the attempt did what was asked for. */
export function isSuccess({ status }: Outcome): boolean {
  return status >= 200 && status < 300;
}

/** The server's own words for an error. */
export function wordsOf(answer: Outcome): string {
  try {
    return String((JSON.parse(answer.body.toString()) as { error: unknown }).error);
  } catch {
    return answer.body.toString().slice(0, 200);
  }
}

/** The JSON of an answer, with the field names of JavaScript. */
export function decoded(body: Buffer): unknown {
  return body.length === 0 ? undefined : fromWire(JSON.parse(body.toString()));
}

/** A read may always be repeated, a change only if it cannot have been done. */
function mayRepeat({ method }: Request, outcome: Outcome): boolean {
  if (outcome.status === 0) return method === "GET" || outcome.sent === false;
  return outcome.status === 429 || (outcome.status === 503 && method === "GET");
}

function encoded(query: Record<string, string | undefined> = {}): string {
  const given = Object.entries(query).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return given.length === 0 ? "" : `?${new URLSearchParams(given).toString()}`;
}

/** The system's name for what broke a connection. */
function codeOf(error: unknown): string {
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  if (typeof cause !== "object" || cause === null) return "";
  if ("code" in cause && typeof cause.code === "string") return cause.code;
  return "name" in cause && cause.name === "TimeoutError" ? "timeout" : "";
}
