/** What is tried again, what is not, and how long a request may take. */

import { Socket } from "node:net";
import { inspect } from "node:util";

import { expect, test, vi } from "vitest";

import { Inbox, Restante, RestanteError, UnreachableError, WaitTimeoutError } from "../src/index.js";
import { freePort } from "./port.js";
import { INBOX, MESSAGE, scripted, scriptedAt, type Scripted } from "./scripted.js";

const KEY = "rst_live_secret00000000000000000000";
const CREATED: Scripted = { status: 201, body: INBOX };
const FOUND: Scripted = { status: 200, body: MESSAGE };
const TIMEOUT: Scripted = { status: 408, body: { error: "timeout" } };
const BUSY: Scripted = { status: 429, body: { error: "too many concurrent waits" } };
const STOPPING: Scripted = { status: 503, body: { error: "service is stopping" }, headers: { "Retry-After": "0" } };

async function connect(url: string, timeout = 30_000): Promise<Restante> {
  return Restante.connect({ url, apiKey: KEY, timeout });
}

/** A client whose first answer is an inbox, and what the server received after it. */
async function inboxWith(
  ...answers: Scripted[]
): Promise<{ inbox: Inbox; requests: () => string[]; queries: () => URLSearchParams[] }> {
  const { url, received } = await scripted(CREATED, ...answers);
  const inbox = await (await connect(url)).createInbox();
  return {
    inbox,
    requests: () => received.slice(1).map(({ method, url: { pathname } }) => `${method} ${pathname.split("/").at(-1)}`),
    queries: () => received.slice(1).map(({ url: { searchParams } }) => searchParams),
  };
}

test("a wait of more than 120 s is several requests, each with its own time limit", async () => {
  const limits = vi.spyOn(Socket.prototype, "setTimeout");
  const { inbox, queries } = await inboxWith(TIMEOUT, TIMEOUT, FOUND);
  await inbox.waitForMessage({ timeout: 200_000 });
  expect(queries().map((query) => query.get("timeout"))).toEqual(["120000", "120000", "120000"]);
  const [...all] = limits.mock.calls.map(([limit]) => limit).filter((limit) => limit >= 10_000);
  expect(all.slice(-4)).toEqual([130_000, 130_000, 130_000, 10_000]);
  limits.mockRestore();
});

test("a wait goes on with what is left when the server ends it early", async () => {
  const { inbox, queries } = await inboxWith(TIMEOUT, FOUND);
  await inbox.waitForMessage({ timeout: 5_000 });
  const [first, second] = queries().map((query) => Number(query.get("timeout")));
  expect(first).toBeGreaterThan(4_000);
  expect(first).toBeLessThanOrEqual(5_000);
  expect(second).toBeLessThanOrEqual(first ?? 0);
});

test("a wait that is refused as one too many is tried again, with pauses that grow", async () => {
  const { inbox, requests } = await inboxWith(BUSY, BUSY, BUSY, FOUND);
  const begin = performance.now();
  expect((await inbox.waitForMessage()).id).toBe(MESSAGE.id);
  expect(requests()).toEqual(["GET wait", "GET wait", "GET wait", "GET wait"]);
  // Three pauses of at least 25 ms; a timer may end up to 1 ms early.
  expect(performance.now() - begin).toBeGreaterThan(3 * 24);
});

test("a wait that is always refused times out", async () => {
  const { inbox } = await inboxWith(...Array<Scripted>(8).fill(BUSY), { status: 200, body: EXPLANATION });
  const waiting = inbox.waitForMessage({ timeout: 100 });
  await expect(waiting).rejects.toBeInstanceOf(WaitTimeoutError);
});

test("a wait with its own start does not let two other waits return the same message", async () => {
  const later = { status: 200, body: { ...MESSAGE, id: "m5" } };
  let release = (): void => undefined;
  const when = new Promise<void>((resolve) => (release = resolve));
  const last = { status: 200, body: { ...MESSAGE, id: "m6" } };
  const { inbox, requests } = await inboxWith({ ...later, when }, FOUND, later, last);
  const first = inbox.waitForMessage();
  await vi.waitUntil(() => requests().length === 1);
  await inbox.waitForMessage({ after: "m0" });
  const second = inbox.waitForMessage();
  expect((await second).id).toBe("m5");
  release();
  expect((await first).id).toBe("m6");
});

const EXPLANATION = { summary: "Nothing.", report: "Nothing.", messages: { count: 0, latest: [] }, refused: [] };

async function timedOut(waiting: Promise<unknown>): Promise<WaitTimeoutError> {
  const error: unknown = await waiting.catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(WaitTimeoutError);
  return error as WaitTimeoutError;
}

test("the requests of a wait have one page", async () => {
  const page = (after: number): Scripted => {
    const headers = { Link: '<http://server/failures/7>; rel="help"' };
    return { ...TIMEOUT, headers, after };
  };
  const explained = { status: 200, body: EXPLANATION };
  const { inbox, queries } = await inboxWith(page(0), page(2_000), explained);
  const error = await timedOut(inbox.waitForMessage({ timeout: 2_000 }));
  expect(queries()).toHaveLength(3);
  expect(error.link).toBe("http://server/failures/7");
  expect(error.message).toMatch(/\nWhat happened during this wait: http:\/\/server\/failures\/7$/);
  expect(error.message).not.toContain("Dashboard");
});

test("a timeout has the label of the inbox beside the page", async () => {
  const headers = { Link: '<http://server/failures/7>; rel="help"' };
  const { url } = await scripted(CREATED, { ...TIMEOUT, headers, after: 20 }, { status: 200, body: EXPLANATION });
  const inbox = await (await connect(url)).createInbox({ label: "sign up" });
  const { message } = await timedOut(inbox.waitForMessage({ timeout: 10 }));
  expect(message).toMatch(/\/failures\/7 \(sign up\)$/);
});

test.for(["<http://server/docs>; rel=next", "<javascript:alert()>; rel=help"])(
  "without a page, a timeout links to the inbox: %s",
  async (Link) => {
    const { inbox } = await inboxWith({ ...TIMEOUT, headers: { Link }, after: 20 }, { status: 200, body: EXPLANATION });
    const error = await timedOut(inbox.waitForMessage({ timeout: 10 }));
    expect(error.link).toBeUndefined();
    expect(error.message).toContain(`/inboxes/${INBOX.id}`);
  },
);

test("a message whose details cannot be read is no message that does not match", async () => {
  const { inbox } = await inboxWith({ status: 200, body: MESSAGE, details: 500 });
  const filters = { to: /shop/, header: { "X-Step": /1/ } };
  await expect(inbox.waitForMessage(filters)).rejects.toThrow(/\/messages\/m1\/details: 500 no details/);
});

test("a message that was deleted before its details were read is skipped", async () => {
  const { inbox } = await inboxWith(FOUND, { ...TIMEOUT, after: 20 }, { status: 200, body: EXPLANATION });
  await timedOut(inbox.waitForMessage({ to: /shop/, timeout: 10 }));
});

test("a wait survives broken connections and a stop of the server", async () => {
  const { inbox, requests } = await inboxWith("cut", STOPPING, "cut", FOUND);
  expect((await inbox.waitForMessage()).id).toBe(MESSAGE.id);
  expect(requests()).toHaveLength(4);
});

test("a read is repeated", async () => {
  const { inbox, requests } = await inboxWith("cut", STOPPING, { status: 200, body: { messages: [MESSAGE] } });
  expect(await inbox.messages()).toHaveLength(1);
  expect(requests()).toEqual(["GET messages", "GET messages", "GET messages"]);
});

const FAILURES: [string, Scripted][] = [
  ["a connection that broke", "cut"],
  ["503", STOPPING],
];

test.for(FAILURES)("what may be done twice is repeated after %s", async ([, failure]) => {
  const newest = { status: 200, body: { messages: [] } };
  const gone = { status: 404, body: { error: "inbox not found" } };
  const { url, received } = await scripted(
    ...[failure, CREATED, failure, CREATED, newest],
    ...[failure, { status: 200, body: { faults: [] } }, failure, gone],
  );
  const restante = await connect(url);
  await restante.createInbox();
  const inbox = await restante.inboxFor(INBOX.address);
  expect(await inbox.setFaults([])).toEqual([]);
  await inbox.delete();
  const methods = received.map(({ method }) => method);
  expect(methods).toEqual(["POST", "POST", "PUT", "PUT", "GET", "PUT", "PUT", "DELETE", "DELETE"]);
});

test.for(FAILURES)("a send is not repeated after %s: it may have been done", async ([, answer]) => {
  const { inbox, requests } = await inboxWith(answer);
  await expect(inbox.send({ to: INBOX.address, subject: "Hello" })).rejects.toBeInstanceOf(RestanteError);
  expect(requests()).toEqual(["POST messages"]);
});

test("a send that is one too many is repeated", async () => {
  const { inbox, requests } = await inboxWith(BUSY, { status: 202, body: { id: "o1", status: "queued" } });
  expect(await inbox.send({ to: INBOX.address, subject: "Hello" })).toEqual({ id: "o1", status: "queued" });
  expect(requests()).toEqual(["POST messages", "POST messages"]);
});

test("a send to a full inbox is not repeated: that does not pass", async () => {
  const { inbox, requests } = await inboxWith({ status: 429, body: { error: "recipient inbox is full" } });
  await expect(inbox.send({ to: INBOX.address, subject: "Hello" })).rejects.toThrow("429 recipient inbox is full");
  expect(requests()).toEqual(["POST messages"]);
});

test("a create waits for a server that is about to start", async () => {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const creating = (await connect(url)).createInbox();
  // If an expectation fails before the last line, this is no second error.
  creating.catch(() => undefined);
  await expect(fetch(url)).rejects.toThrow();
  await scriptedAt(Number(port), CREATED);
  expect((await creating).id).toBe(INBOX.id);
});

test("many requests at the same time print no warning", async () => {
  const warnings: Error[] = [];
  const note = (warning: Error) => warnings.push(warning);
  process.on("warning", note);
  const { url } = await scripted({ ...CREATED, after: 50 });
  const restante = await connect(url);
  await Promise.all(Array.from({ length: 20 }, () => restante.createInbox()));
  process.off("warning", note);
  expect(warnings).toEqual([]);
});

test("an error of a server that is not there says how to start one", async () => {
  const url = `http://127.0.0.1:${await freePort()}`;
  const error: unknown = await (await connect(url, 100)).createInbox().catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(UnreachableError);
  expect(String(error)).toContain("npx restante serve");
});

test("no error and no object shows the key", async () => {
  const answers: Scripted[] = [400, 401, 403, 404, 413, 500].map((status) => ({ status, body: { error: "no" } }));
  const { url } = await scripted(CREATED, ...answers, "cut");
  const restante = await connect(url, 100);
  const inbox = await restante.createInbox();
  const shown = [restante, inbox];
  for (let call = 0; call < answers.length + 1; call += 1) {
    const error: unknown = await inbox.send({ to: "a@b.example", subject: "" }).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(RestanteError);
    shown.push(error as never);
  }
  expect(inspect(shown, { depth: 9, showHidden: true })).not.toContain("secret");
});
