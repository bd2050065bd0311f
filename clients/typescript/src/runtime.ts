/**
 * What tests replace, taken from Node when the client is loaded: a wait for real mail needs real timers, clocks and
 * connections. The globals may be fakes already, or those of jsdom or happy-dom, and libraries replace functions in the
 * modules of Node, too: Vitest and node:test those for timers, nock and MSW those for HTTP.
 */

import { randomBytes } from "node:crypto";
import { setMaxListeners } from "node:events";
import { Agent, ClientRequest, type IncomingMessage, type request, type RequestOptions } from "node:http";
import { globalAgent } from "node:https";
import { Socket, type TcpNetConnectOpts } from "node:net";
import { scheduler } from "node:timers/promises";
import { transferableAbortController } from "node:util";
import { runInNewContext } from "node:vm";

// A replacement is a property of a module or an object, so this is what prototypes have.
const { wait = scheduler.wait } = Reflect.getPrototypeOf(scheduler) as Partial<typeof scheduler>;
const { connect } = Socket.prototype;
const HttpRequest = ClientRequest.prototype.constructor as new (...all: Parameters<typeof request>) => ClientRequest;
const { uptime } = process;
// Copies, because an import is read again at each use. Bun has no such function.
const { AbortController: OfGlobal } = globalThis;
const ofNode = transferableAbortController as (() => AbortController) | undefined;
const httpsAgent = globalAgent;
const bytes = randomBytes;
/** As Node's own agent, with its own connections. */
const httpAgent = Object.assign(new Agent({ keepAlive: true, scheduling: "lifo", timeout: 5_000 }), {
  createConnection: (options: TcpNetConnectOpts) => connect.apply(new Socket(options), [options] as never),
});

/** Milliseconds on a clock that always runs. */
export function now(): number {
  return uptime() * 1000;
}

/** A name that nothing else has. */
export function randomName(): string {
  return bytes(16).toString("hex");
}

/** Milliseconds since 1970. The `Date` of a new context is the real one. */
export function wallClock(): number {
  return runInNewContext("Date.now()") as number;
}

/** One with a signal that functions of Node accept, any number at the same time. */
export function abortController(): AbortController {
  const controller = ofNode === undefined ? new OfGlobal() : ofNode();
  setMaxListeners(0, controller.signal);
  return controller;
}

/** A pause. It ends early with an error if the signal is aborted. */
export function sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return wait.call(scheduler, milliseconds, signal === undefined ? {} : { signal });
}

/** The result of the promise, or that of `late` if there is none in this time. */
export async function within<T, L>(milliseconds: number, promise: Promise<T>, late: () => L): Promise<T | L> {
  const done = abortController();
  try {
    return await Promise.race([promise, sleep(milliseconds, done.signal).then(late)]);
  } finally {
    done.abort();
  }
}

/** Sends a request. It fails if the server sends nothing for `options.timeout`. Redirects are not followed. */
export function send(url: string, options: RequestOptions, body?: string): Promise<IncomingMessage> {
  const agent = url.startsWith("https:") ? httpsAgent : httpAgent;
  return new Promise((resolve, reject) => {
    const sent = new HttpRequest(url, { ...options, agent }, resolve);
    sent.on("error", reject);
    sent.on("timeout", () => sent.destroy(new Error("timeout")));
    sent.end(body);
  });
}
