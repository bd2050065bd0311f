/** Starts a server on free ports with its own data directory, which stops with the process that started it. */

import { spawn, type ChildProcess } from "node:child_process";
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

import { findBinary } from "./binary.js";
import { RestanteError } from "./errors.js";
import { identityOf, prefix, removeAbandoned } from "./processes.js";
import { within } from "./runtime.js";
import { mailpitUrl, variable } from "./settings.js";
import type { SmtpAddress } from "./types.js";

const MAX_START_MS = 20_000;
/** Longer than a server takes to stop: its requests have ten seconds. */
const MAX_STOP_MS = 15_000;
const LOG = "server.log";
const ANY_PORT = "127.0.0.1:0";
/** Maximum number of concurrent waits per key; the server is started with it. */
const WAITS_PER_KEY = "128";
/** Settings that would connect it to the data or the URL of another server. */
const NOT_PASSED_ON = ["RESTANTE_DATA_DIR", "RESTANTE_DATABASE", "RESTANTE_BASE_URL"];

/** The addresses of a server that was started. */
export interface ServerAddress {
  url: string;
  apiKey: string;
  smtp: SmtpAddress;
  mailDomain: string;
  /** The base URL for a test helper of Mailpit. */
  mailpitUrl: string;
  /** The log file of a server that was started for this run. */
  log?: string;
}

/** A started server. */
export interface Server extends ServerAddress {
  pid: number;
  log: string;
  /** Stops the server, and removes its data if the directory was created for it. */
  stop(): Promise<void>;
}

/** How to start a server. Other settings are read from the environment, for example `RESTANTE_SMTP_LISTEN`. */
export interface ServerOptions {
  /** Additional flags of `restante serve`. */
  flags?: readonly string[];
  /** A directory for the data, which is kept. By default a temporary one, which is removed. */
  dataDir?: string;
  /** The key of the default project; by default a new one is generated. */
  apiKey?: string;
  /** The address for HTTP; by default `RESTANTE_HTTP_LISTEN`, else a free port of 127.0.0.1. */
  httpListen?: string;
  /** The address for SMTP; by default `RESTANTE_SMTP_LISTEN`, else a free port of 127.0.0.1. */
  smtpListen?: string;
}

/** Starts a server. It stops when this process ends, even if it crashes. */
export async function startServer(options: ServerOptions = {}): Promise<Server> {
  const binary = findBinary();
  const dataDir = options.dataDir ?? temporary();
  const remove = () => {
    if (options.dataDir === undefined) rmSync(dataDir, { recursive: true, force: true });
  };
  const log = openSync(join(dataDir, LOG), "a");
  const child = spawn(binary, flags(dataDir, options), {
    env: environment(options),
    stdio: ["pipe", "pipe", log],
    windowsHide: true,
  });
  closeSync(log);
  const stopped = new Promise<void>((resolve) => child.once("close", () => resolve()).once("error", () => resolve()));
  const atExit = () => {
    child.kill("SIGKILL");
    remove();
  };
  process.once("exit", atExit);
  const stop = async () => {
    child.ref();
    child.stdin?.end();
    await within(MAX_STOP_MS, stopped, () => child.kill("SIGKILL"));
    await stopped;
    process.removeListener("exit", atExit);
    remove();
  };
  try {
    return { ...address(await firstLine(child), options), pid: child.pid ?? 0, log: join(dataDir, LOG), stop };
  } catch (error) {
    child.kill("SIGKILL");
    const tail = readFileSync(join(dataDir, LOG), "utf8").slice(-2_000);
    await stop();
    const why = error instanceof Error ? error.message : String(error);
    throw new RestanteError(`The server did not start: ${why}\n${tail}`.trim(), { cause: error });
  }
}

/** A directory for the data of a server of this process. Those of killed processes are removed. */
function temporary(): string {
  const start = prefix("data");
  removeAbandoned(start, (_path, rest) => /^\d+(-\d+)?(?=-)/.exec(rest)?.[0]);
  return mkdtempSync(join(tmpdir(), `${start}${identityOf(process.pid)}-`));
}

function httpAddress(options: ServerOptions): string {
  return options.httpListen ?? variable("RESTANTE_HTTP_LISTEN") ?? ANY_PORT;
}

function flags(dataDir: string, options: ServerOptions): string[] {
  const smtp = options.smtpListen ?? variable("RESTANTE_SMTP_LISTEN") ?? ANY_PORT;
  const fixed = ["--data-dir", dataDir, "--print-json", "--exit-with-stdin"];
  return ["serve", "--http-listen", httpAddress(options), "--smtp-listen", smtp, ...fixed, ...(options.flags ?? [])];
}

/** The environment, with the defaults for a server of tests. */
function environment(options: ServerOptions): NodeJS.ProcessEnv {
  const environment = givenEnvironment();
  // A test must not send mail to the internet by mistake.
  if (environment.RESTANTE_RELAY === undefined) environment.RESTANTE_OUTBOUND ??= "off";
  // It listens on loopback, and if it never sends, it can accept mail to every address of the application.
  if (environment.RESTANTE_OUTBOUND === "off") environment.RESTANTE_ACCEPT_DOMAINS ??= "*";
  environment.RESTANTE_WAITS_PER_KEY ??= WAITS_PER_KEY;
  // Helpers for Mailpit have no key. Other hosts must not read without one.
  if (/^(127\.|\[::1\])/.test(httpAddress(options))) environment.RESTANTE_MAILPIT_API ??= "open";
  environment.RESTANTE_MAILPIT_LISTEN ??= ANY_PORT;
  // Mailers that upgrade to TLS whenever they can would reject the self-signed certificate.
  environment.RESTANTE_SMTP_STARTTLS ??= "off";
  environment.RESTANTE_SMTP_PLAINTEXT_AUTH ??= "true";
  if (options.apiKey !== undefined) environment.RESTANTE_API_KEY = options.apiKey;
  return environment;
}

/** What is passed on of the environment. An empty setting counts as absent. */
function givenEnvironment(): NodeJS.ProcessEnv {
  const given = Object.entries(process.env).filter(
    ([name, value]) => !NOT_PASSED_ON.includes(name) && (value !== "" || !name.startsWith("RESTANTE_")),
  );
  return Object.fromEntries(given);
}

/** The line with the server's addresses. The server does not keep this process alive. */
async function firstLine(child: ChildProcess): Promise<string> {
  const { stdin, stdout } = child;
  if (stdin === null || stdout === null) throw new Error("no pipes");
  stdin.on("error", () => undefined);
  const lines = createInterface({ input: stdout });
  const line = new Promise<string>((resolve, reject) => {
    lines.once("line", resolve);
    child.once("error", reject);
    child.once("close", (code, killedBy) => reject(new Error(`it ended with ${code ?? killedBy}`)));
  });
  try {
    return await within(MAX_START_MS, line, () => {
      throw new Error(`it printed no address within ${MAX_START_MS / 1000} s`);
    });
  } finally {
    lines.close();
    stdout.resume();
    child.unref();
    for (const pipe of [stdin, stdout]) if (pipe instanceof Socket) pipe.unref();
  }
}

/** What the server prints as JSON when it has started. */
interface Printed {
  url: string;
  smtp: SmtpAddress;
  mail_domain: string;
  mailpit_url?: string | null;
  api_key: string | null;
}

function address(line: string, options: ServerOptions): ServerAddress {
  const printed = parsed(line);
  if (typeof printed?.url !== "string") throw new Error(`it is no restante: it printed ${line}`);
  const apiKey = printed.api_key ?? options.apiKey ?? variable("RESTANTE_API_KEY");
  if (apiKey === undefined) throw new Error("its data directory has an unknown key; set RESTANTE_API_KEY to it");
  const { url, smtp, mail_domain: mailDomain } = printed;
  return { url, apiKey, smtp, mailDomain, mailpitUrl: printed.mailpit_url ?? mailpitUrl(url) };
}

/** The JSON of a line; undefined if it is none. */
function parsed(line: string): Printed | undefined {
  try {
    return JSON.parse(line) as Printed;
  } catch {
    return undefined;
  }
}
