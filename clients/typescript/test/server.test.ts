/** A server that the client starts. */

import { execFile, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

import nodemailer from "nodemailer";
import { expect, onTestFinished, test, vi } from "vitest";

import { Restante, RestanteError, startServer } from "../src/index.js";

const PACKAGE = join(__dirname, "..");

test("a client without an address starts a server, and stops it", async () => {
  const restante = await Restante.connect();
  expect(await restante.health()).toEqual({ status: "ok" });
  await restante.close();
  await expect(fetch(`${restante.url}/health`)).rejects.toThrow();
});

test("a started server has the key of the client", async () => {
  const restante = await Restante.connect({ apiKey: `rst_live_${"k".repeat(32)}` });
  onTestFinished(() => restante.close());
  expect((await restante.createInbox()).address).toContain("@");
});

test("the answer to a message goes out from an inbox with any name", async () => {
  const restante = await Restante.connect();
  onTestFinished(() => restante.close());
  const inbox = await restante.inboxFor("a/b?c#d%e@restante.example.com");
  const other = await restante.createInbox();
  await other.send({ to: inbox.address, subject: "Question" });
  await (await inbox.waitForMessage()).reply({ text: "Answer" });
  expect(await other.waitForMessage()).toMatchObject({ from: inbox.address, subject: "Re: Question" });
});

test("a helper of Mailpit finds it at the root of a listener of its own", async () => {
  const restante = await Restante.connect();
  onTestFinished(() => restante.close());
  expect(await (await fetch(new URL("/livez", restante.mailpitUrl))).text()).toBe("");
});

test("the data of a server is removed with it, unless its folder was given", async () => {
  const dataDir = mkdtempSync(join(tmpdir(), "restante-test-"));
  for (const [options, isKept] of [
    [{}, false],
    [{ dataDir }, true],
  ] as const) {
    const server = await startServer(options);
    expect(existsSync(server.log)).toBe(true);
    await server.stop();
    expect(existsSync(server.log)).toBe(false);
    expect(existsSync(join(dataDir, "restante.db"))).toBe(isKept);
  }
});

test("a started server reads its settings from the environment, and not those of another server", async () => {
  const dataDir = mkdtempSync(join(tmpdir(), "restante-test-"));
  const settings = { MAIL_DOMAIN: "shop.example", DATA_DIR: dataDir, BASE_URL: "https://m.example", SMTP_LISTEN: "" };
  for (const [name, value] of Object.entries(settings)) vi.stubEnv(`RESTANTE_${name}`, value);
  onTestFinished(() => void vi.unstubAllEnvs());
  const server = await startServer();
  await server.stop();
  expect(server).toMatchObject({ mailDomain: "shop.example", url: expect.stringContaining("127.0.0.1") as string });
  expect(readdirSync(dataDir)).toEqual([]);
});

test("a mailer needs nothing but host and port", async () => {
  const restante = await Restante.connect();
  onTestFinished(() => restante.close());
  const inbox = await restante.createInbox();
  for (const auth of [undefined, { user: "app", pass: "secret" }]) {
    const transport = nodemailer.createTransport({ ...restante.smtp, auth });
    await transport.sendMail({ from: "app@app.example", to: inbox.address, subject: "Hello", text: "Hi" });
  }
  expect(await inbox.messages()).toHaveLength(2);
});

test("closing cancels the open waits first, and leaves no data", async () => {
  const folder = mkdtempSync(join(tmpdir(), "restante-test-"));
  vi.stubEnv("TMPDIR", folder);
  onTestFinished(() => void vi.unstubAllEnvs());
  const restante = await Restante.connect();
  const inbox = await restante.createInbox();
  const waits = [inbox.waitForMessage(), inbox.expectNoMessage({ within: 30_000 })];
  const failures = Promise.all(waits.map((wait) => wait.catch((error: unknown) => error)));
  // The waits are open when a later request has been answered.
  await restante.health();
  const begin = performance.now();
  await restante.close();
  for (const error of await failures) {
    expect(error).toBeInstanceOf(RestanteError);
    expect(String(error)).toContain("The client was closed.");
  }
  // Without the cancellation, they last 30 s.
  expect(performance.now() - begin).toBeLessThan(10_000);
  await expect(restante.createInbox()).rejects.toThrow("The client was closed.");
  expect(serversIn(folder)).toEqual([]);
});

/** The directories of servers in a folder for temporary files. */
function serversIn(folder: string): string[] {
  const users = readdirSync(folder).filter((name) => /^restante-\d/.test(name));
  const entries = users.flatMap((user) => readdirSync(join(folder, user), { withFileTypes: true }));
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
}

test("the log of the run's own server is in the error when it has died", async () => {
  const own = spawn(process.execPath, ["-e", "process.stdin.resume()"], { stdio: ["pipe", "ignore", "ignore"] });
  const script = `
    const { serverOfProcess } = require(${JSON.stringify(join(PACKAGE, "dist/server.js"))});
    const { Restante } = require(${JSON.stringify(PACKAGE)});
    const server = serverOfProcess(${own.pid});
    const { readFileSync, readdirSync, writeFileSync } = require("node:fs");
    const pid = readdirSync("/proc").find((name) => {
      try {
        return readFileSync("/proc/" + name + "/cmdline", "utf8").includes(require("node:path").dirname(server.log));
      } catch {
        return false;
      }
    });
    writeFileSync(server.log, "the disk is full");
    process.kill(Number(pid), "SIGKILL");
    Restante.connect({ ...server, timeout: 500 })
      .then((restante) => restante.createInbox())
      .catch((error) => console.log(String(error)));`;
  const { stdout } = await promisify(execFile)(process.execPath, ["-e", script], { timeout: 60_000 });
  own.kill("SIGKILL");
  expect(stdout).toContain("UnreachableError: The server of this run does not answer");
  expect(stdout).toContain("the disk is full");
  expect(stdout).not.toContain("npx restante serve");
});

test("a program that forgets to close ends, and its server with it", async () => {
  const script = `
    const { Restante } = require(${JSON.stringify(PACKAGE)});
    Restante.connect().then(async (restante) => {
      await restante.createInbox();
      console.log(restante.url);
    });`;
  const { stdout } = await promisify(execFile)(process.execPath, ["-e", script], { timeout: 60_000 });
  await untilDown(stdout.trim());
});

test("a server that does not stop is killed", async () => {
  const server = await startServer();
  process.kill(server.pid, "SIGSTOP");
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  try {
    const stopping = server.stop();
    vi.advanceTimersByTime(15_000);
    await stopping;
  } finally {
    vi.useRealTimers();
  }
  expect(() => process.kill(server.pid, 0)).toThrow("ESRCH");
});

test("a server that cannot start says why", async () => {
  await expect(startServer({ flags: ["--no-such-flag"] })).rejects.toThrow("--no-such-flag");
});

test("many processes of a run start one server, which ends with the run", async () => {
  const owner = spawn(process.execPath, ["-e", "process.stdin.resume()"], { stdio: ["pipe", "ignore", "ignore"] });
  const script = `
    const { serverOfProcess } = require(${JSON.stringify(join(PACKAGE, "dist/server.js"))});
    console.log(serverOfProcess(${owner.pid}).url);`;
  const callers = Array.from({ length: 4 }, () => promisify(execFile)(process.execPath, ["-e", script]));
  const urls = (await Promise.all(callers)).map(({ stdout }) => stdout.trim());
  expect(new Set(urls).size).toBe(1);
  expect(serversIn(tmpdir())).not.toEqual([]);
  owner.kill("SIGKILL");
  await untilDown(urls[0] ?? "");
  await vi.waitUntil(() => serversIn(tmpdir()).length === 0, { timeout: 100_000 });
});

async function untilDown(url: string): Promise<void> {
  const isDown = () =>
    fetch(`${url}/health`).then(
      () => false,
      () => true,
    );
  await vi.waitUntil(isDown, { timeout: 100_000 });
}

test("mail to other domains does not leave", async () => {
  const restante = await Restante.connect();
  const inbox = await restante.createInbox();
  // The server accepts every domain, so there is no other one, and only inboxes get what is sent.
  const sending = inbox.send({ to: "somebody@app.example", subject: "Hello" });
  await expect(sending).rejects.toThrow("recipient not found");
  await restante.close();
});

test("the command runs the server's program", async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [join(PACKAGE, "bin/restante.js"), "--version"]);
  expect(stdout).toMatch(/^restante \d/);
});
