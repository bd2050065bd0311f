/** A user's mistake in a setting is an error that names it, never a TypeError, RangeError or SyntaxError. */

import { chmodSync, mkdtempSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { createServer as createMailServer } from "node:net";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterEach, beforeEach, expect, onTestFinished, test, vi } from "vitest";

import { Restante, RestanteError, startServer, UnreachableError } from "../src/index.js";
import { CREATED_INBOX, scripted } from "./scripted.js";

const KEY = "rst_live_secret00000000000000000000";

beforeEach(() => {
  for (const name of ["URL", "API_KEY", "TIMEOUT", "SMTP", "MAIL_DOMAIN"]) vi.stubEnv(`RESTANTE_${name}`, "");
});

afterEach(() => {
  vi.unstubAllEnvs();
});

async function failure(action: () => Promise<unknown>): Promise<Error> {
  return action().then(
    () => expect.fail("no error"),
    (error: unknown) => error as Error,
  );
}

test.for<[string, Record<string, string>, string]>([
  ["an address without a scheme", { RESTANTE_URL: "localhost:8025" }, "http://"],
  ["no address", { RESTANTE_URL: "the server" }, "the server"],
  ["a port that is too high", { RESTANTE_URL: "http://localhost:99999" }, "99999"],
  ["an address with a password", { RESTANTE_URL: "http://me:secret@localhost" }, "password"],
  ["a key with a line end", { RESTANTE_API_KEY: `${KEY}\n` }, "RESTANTE_API_KEY"],
  ["a key in typographic quotes", { RESTANTE_API_KEY: `“${KEY}”` }, "RESTANTE_API_KEY"],
  ["a time in words", { RESTANTE_TIMEOUT: "soon" }, "RESTANTE_TIMEOUT"],
  ["an SMTP address without a port", { RESTANTE_SMTP: "localhost" }, "RESTANTE_SMTP"],
  ["an SMTP port that is too high", { RESTANTE_SMTP: "localhost:99999" }, "RESTANTE_SMTP"],
])("%s", async ([, wrong, named]) => {
  const right = { RESTANTE_URL: "http://localhost:8025", RESTANTE_API_KEY: KEY };
  for (const [name, value] of Object.entries({ ...right, ...wrong })) vi.stubEnv(name, value);
  const error = await failure(() => Restante.connect());
  expect(error).toBeInstanceOf(RestanteError);
  expect(error.message).toContain(named);
  expect(error.message).not.toContain("secret");
});

test.for([Number.NaN, -1, "5"])("a time of %s in code", async (timeout) => {
  const { url } = await scripted(CREATED_INBOX);
  const options = { timeout: timeout as number };
  expect(await failure(() => Restante.connect({ url, apiKey: KEY, ...options }))).toBeInstanceOf(RestanteError);
  const inbox = await (await Restante.connect({ url, apiKey: KEY })).createInbox();
  expect(await failure(() => inbox.waitForMessage(options))).toBeInstanceOf(RestanteError);
  expect(await failure(() => inbox.expectNoMessage({ within: timeout as number }))).toBeInstanceOf(RestanteError);
});

test.for([
  ["prints no JSON", "echo Hello", "it is no restante: it printed Hello"],
  ["prints other JSON", "echo '{}'; sleep 9", "it is no restante: it printed {}"],
  ["prints a number", "echo 5; sleep 9", "it is no restante: it printed 5"],
  ["ends", "exit 3", "it ended with 3"],
] as const)("a program in RESTANTE_BIN that %s", async ([, script, reason]) => {
  const program = join(mkdtempSync(join(tmpdir(), "restante-test-")), "restante");
  writeFileSync(program, `#!/bin/sh\n${script}\n`);
  chmodSync(program, 0o755);
  vi.stubEnv("RESTANTE_BIN", program);
  const error = await failure(() => startServer());
  expect(error).toBeInstanceOf(RestanteError);
  expect(error.message).toContain(`The server did not start: ${reason}`);
});

test.for([
  [200, "<!doctype html><title>Shop</title>"],
  [200, '{"name": "shop"}'],
  [200, "[1, 2]"],
  [200, "null"],
  [204, ""],
  [401, "<h1>Who are you?</h1>"],
  [404, "<h1>Not found: shop</h1>"],
  [501, "<h1>Unsupported method</h1>"],
] as const)("another server that answers %s %s is unreachable", async ([status, body]) => {
  const server = createServer((_request, response) => response.writeHead(status).end(body)).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const restante = await Restante.connect({ url, apiKey: KEY });
  const error = await failure(() => restante.createInbox());
  expect(error).toBeInstanceOf(UnreachableError);
  for (const part of [url, status < 300 ? "" : String(status), body]) expect(error.message).toContain(part);
});

test("a server that redirects is named, not the key that a redirected request would lose", async () => {
  const { url, received } = await scripted({ status: 301, headers: { Location: "http://127.0.0.1:9/v1/inboxes" } });
  const error = await failure(async () => (await Restante.connect({ url, apiKey: KEY })).createInbox());
  expect(error).toBeInstanceOf(UnreachableError);
  expect(error.message).toContain("It answered POST /v1/inboxes with 301");
  expect(received).toHaveLength(1);
});

test("a password in an address is not shown, although the SMTP server is known", async () => {
  const smtp = { host: "localhost", port: 1025 };
  const error = await failure(() => Restante.connect({ url: "http://me:secret@localhost", apiKey: KEY, smtp }));
  expect(error.message).toContain("password");
  expect(error.message).not.toContain("secret");
});

test("the 408 of a proxy is not the end of a wait", async () => {
  const { url, received } = await scripted(CREATED_INBOX, { status: 408 });
  const inbox = await (await Restante.connect({ url, apiKey: KEY })).createInbox();
  expect(await failure(() => inbox.waitForMessage({ timeout: 60_000 }))).toBeInstanceOf(UnreachableError);
  expect(received).toHaveLength(2);
});

test("the SMTP address instead of that for HTTP", async () => {
  const server = createMailServer((socket) => socket.on("error", () => undefined).write("220 mail ESMTP\r\n"));
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const error = await failure(async () => (await Restante.connect({ url, apiKey: KEY, timeout: 100 })).createInbox());
  expect(error).toBeInstanceOf(UnreachableError);
  expect(error.message).toMatch(/accepts connections, but gives no HTTP response .*not that for SMTP/);
  expect(error.message).not.toContain("Cannot connect");
});

test("an answer of another server does not count as no message", async () => {
  const { url } = await scripted(CREATED_INBOX, { status: 204 });
  const inbox = await (await Restante.connect({ url, apiKey: KEY })).createInbox();
  expect(await failure(() => inbox.expectNoMessage({ within: 100 }))).toBeInstanceOf(UnreachableError);
});
