/**
 * The tasks and commands for Cypress, against a real server. Cypress itself does not run here: its commands and `cy`
 * are replaced by the few lines below, which pass JSON to the tasks as Cypress does. The types are checked with the
 * real package.
 */

import { execFileSync } from "node:child_process";
import { join } from "node:path";

import nodemailer from "nodemailer";
import { beforeAll, expect, test, vi } from "vitest";

import { setupRestante, type CypressInbox, type CypressMessage } from "restante/cypress";
import { variable } from "../../src/settings.js";

type Task = (argument: unknown) => Promise<unknown>;
type Command = (...parameters: unknown[]) => PromiseLike<unknown>;

const PACKAGE = join(__dirname, "../..");
const tasks: Record<string, Task> = {};
const commands: Record<string, Command> = {};
const log: { name: string; message: string; ended: boolean; console: () => object }[] = [];
const timeouts: (number | undefined)[] = [];

beforeAll(async () => {
  const config = { taskTimeout: 1, baseUrl: null };
  expect(await setupRestante((_event, more) => Object.assign(tasks, more), config)).toBe(config);
  expect(config.taskTimeout).toBe(40_000);
  vi.stubGlobal("cy", {
    task: async (name: string, argument: unknown, { timeout }: { timeout?: number }) => {
      timeouts.push(timeout);
      const task = tasks[name] ?? (() => Promise.reject(new Error(`there is no task ${name}`)));
      return JSON.parse(JSON.stringify(await task(JSON.parse(JSON.stringify(argument))))) as unknown;
    },
  });
  vi.stubGlobal("Cypress", {
    Commands: { add: (name: string, run: Command) => (commands[name] = run) },
    currentTest: { titlePath: ["sign-up", "works"] },
    log: ({ name, message, consoleProps }: { name: string; message: string; consoleProps: () => object }) => {
      const entry = { name, message, ended: false, console: consoleProps };
      log.push(entry);
      return { set: (changed: object) => Object.assign(entry, changed), end: () => (entry.ended = true) };
    },
  });
  await import("restante/cypress/commands");
});

async function run<T>(name: string, ...parameters: unknown[]): Promise<T> {
  return (await commands[name]?.(...parameters)) as T;
}

async function sendMail(to: string, subject: string): Promise<void> {
  const [host, port] = (variable("RESTANTE_SMTP") ?? "").split(":");
  const transport = nodemailer.createTransport({ host, port: Number(port) });
  const links = '<a href="https://app.example/confirm?token=1">Confirm</a> <a href="https://app.example/help">Help</a>';
  await transport.sendMail({ from: "shop@app.example", to, subject, html: `<p>Your code is 482913.</p>${links}` });
}

test("the commands are those of the documents", () => {
  expect(Object.keys(commands).sort()).toEqual(["code", "inbox", "inboxFor", "link", "setFaults", "waitForMessage"]);
});

test("a test waits for a message and reads its code and a link", async () => {
  const inbox = await run<CypressInbox>("inbox");
  await sendMail(inbox.address, "Hello");
  await sendMail(inbox.address, "Sign up now");
  const message = await run<CypressMessage>("waitForMessage", inbox, { subject: /^sign UP/i, timeout: 20_000 });
  expect(message).toMatchObject({ subject: "Sign up now", to: inbox.address, from: "shop@app.example" });
  expect(new Date(message.receivedAt).getTime()).toBeGreaterThan(0);
  expect(timeouts.at(-1)).toBe(30_000);
  expect(await run("code", message)).toBe("482913");
  expect(await run("code", message, { matching: /^48/ })).toBe("482913");
  expect(await run("link", message, { text: /^confirm$/i })).toBe("https://app.example/confirm?token=1");
  expect(await run("link", message, "/help")).toBe("https://app.example/help");
  // The next wait continues after the message that was returned.
  await sendMail(inbox.address, "Again");
  expect((await run<CypressMessage>("waitForMessage", inbox)).subject).toBe("Again");
  const entries = log.slice(0, 3).map(({ name, message, ended }) => [name, message, ended]);
  expect(entries).toEqual([
    ["inbox", inbox.address, true],
    ["waitForMessage", `${inbox.address} → Sign up now`, true],
    ["code", "Sign up now → 482913", true],
  ]);
  expect(log[0]?.console()).toMatchObject({ label: "sign-up › works", Yielded: { address: inbox.address } });
});

test("a failure has the explanation of the server", async () => {
  const inbox = await run<CypressInbox>("inbox");
  await sendMail(inbox.address, "Welcome");
  const failed = run("waitForMessage", inbox, { subject: "Sign up", timeout: 0 });
  await expect(failed).rejects.toThrow(/Expected subject "Sign up"; arrived: "Welcome/);
  expect(log.at(-1)).toMatchObject({ name: "waitForMessage", ended: false });
  const message = await run<CypressMessage>("waitForMessage", inbox);
  await expect(run("link", message)).rejects.toThrow("has 2 links");
  await expect(run("link", message, /nothing/)).rejects.toThrow("has no links that match /nothing/");
  await expect(run("code", { ...message, id: "unknown" })).rejects.toThrow("message not found");
});

test("an inbox with a known address, and its faults", async () => {
  const inbox = await run<CypressInbox>("inboxFor", "ada@app.example");
  expect(inbox.address).toBe("ada@app.example");
  const faults = await run<{ left: number }[]>("setFaults", inbox, [{ at: "data", do: "defer", times: 1 }]);
  expect(faults[0]).toMatchObject({ left: 1 });
  expect(log.at(-1)).toMatchObject({ name: "setFaults", message: "ada@app.example: defer", ended: true });
  await expect(sendMail(inbox.address, "Refused")).rejects.toThrow("451 4.3.0");
  await sendMail(inbox.address, "Accepted");
  // Node finds an inbox of which it does not know, for example after a restart of Cypress's server.
  const waiting = tasks["restante:wait"]?.({ inbox: inbox.id, filters: {} });
  expect(await waiting).toMatchObject({ value: { subject: "Accepted" } });
});

test("a project with Cypress's own types compiles", () => {
  const compiler = join(PACKAGE, "node_modules/typescript/bin/tsc");
  const flags = [compiler, "-p", join(__dirname, "project")];
  const compiled = () => execFileSync(process.execPath, flags, { encoding: "utf8" });
  expect(compiled).not.toThrow();
});
