/** Requests to the server: the key, time limits, retries, and the error for each response. */

import { InvalidRequestError, NotFoundError, RestanteError, UnauthorizedError, UnreachableError } from "./errors.js";
import { fromWire } from "./types.js";

/** The time limit of a request is this much longer than the timeout that is sent to the server. */
const GRACE = 10_000;
/** Requests that are not waits are retried for at most this long. */
const PATIENCE = 10_000;
const SHORTEST_PAUSE = 50;
const LONGEST_PAUSE = 1_000;
/** The codes of a failed connection attempt, in which nothing has reached the server. */
const NOT_CONNECTED = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "UND_ERR_CONNECT_TIMEOUT"]);

/** One request. */
export interface Request {
  method: "GET" | "POST" | "PUT" | "DELETE";
  path: string;
  query?: Record<string, string | undefined>;
  body?: unknown;
}

/** The result of one attempt. */
export interface Outcome {
  /** The status of the response; 0 if there was none. */
  status: number;
  body: Buffer;
  /** Milliseconds, from `Retry-After`. */
  retryAfter?: number;
  /** Without a response: whether the request may have reached the server, and the cause. */
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

  /** The JSON of a successful response, with JavaScript field names. */
  async json<T>(request: Request): Promise<T> {
    return decoded(await this.bytes(request)) as T;
  }

  /** The bytes of a successful response. Requests that may be repeated are retried. */
  async bytes(request: Request): Promise<Buffer> {
    const pauses = new Pauses(performance.now() + this.#patience);
    for (;;) {
      const outcome = await this.attempt(request);
      if (isSuccess(outcome)) return outcome.body;
      if (!mayRepeat(request, outcome) || !(await pauses.next(outcome))) throw this.error(request, outcome);
    }
  }

  /** One attempt; `held` is how long the server may keep the request open, in milliseconds. */
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

  /** The error for a failed attempt. */
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
  "Check that RESTANTE_API_KEY is the key of a project of this server. `restante serve` prints one at its first start.";

function unreachable(url: string, cause: unknown): UnreachableError {
  const reason = codeOf(cause) || String(cause);
  return new UnreachableError(
    `Cannot connect to Restante at ${url} (${reason}). Start it with \`npx restante serve\` and set RESTANTE_URL to ` +
      "the address that it prints, or unset RESTANTE_URL to start a server for the run.",
    { cause },
  );
}

/** Pauses until a deadline: each is a tenth of the time so far, within limits, with jitter. */
export class Pauses {
  readonly #start = performance.now();
  readonly #deadline: number;

  constructor(deadline: number) {
    this.#deadline = deadline;
  }

  /** Pauses at least as long as the server requests; returns false without a pause if the deadline has passed. */
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

/** Whether the attempt succeeded. */
export function isSuccess({ status }: Outcome): boolean {
  return status >= 200 && status < 300;
}

/** The server's text for an error. */
export function wordsOf(answer: Outcome): string {
  try {
    return String((JSON.parse(answer.body.toString()) as { error: unknown }).error);
  } catch {
    return answer.body.toString().slice(0, 200);
  }
}

/** The JSON of a response, with JavaScript field names. */
export function decoded(body: Buffer): unknown {
  return body.length === 0 ? undefined : fromWire(JSON.parse(body.toString()));
}

/** A read may always be repeated; a change may be repeated only if the server cannot have carried it out. */
function mayRepeat({ method }: Request, outcome: Outcome): boolean {
  if (outcome.status === 0) return method === "GET" || outcome.sent === false;
  return outcome.status === 429 || (outcome.status === 503 && method === "GET");
}

function encoded(query: Record<string, string | undefined> = {}): string {
  const given = Object.entries(query).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return given.length === 0 ? "" : `?${new URLSearchParams(given).toString()}`;
}

/** The system's error code for a failed connection. */
function codeOf(error: unknown): string {
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  if (typeof cause !== "object" || cause === null) return "";
  if ("code" in cause && typeof cause.code === "string") return cause.code;
  return "name" in cause && cause.name === "TimeoutError" ? "timeout" : "";
}
