/** Starts `restante serve --for-tests`, which has the settings of a server for tests, and ends with who needs it. */

import { spawn, spawnSync } from "node:child_process";
import { Socket } from "node:net";
import { createInterface } from "node:readline";

import { findBinary } from "./binary.js";
import { RestanteError } from "./errors.js";
import { within } from "./runtime.js";
import { DEFAULT_DOMAIN, hostAndPort, mailpitUrl, namedMailpitUrl, smtpAddress, variable } from "./settings.js";
import { fromWire, type SmtpAddress } from "./types.js";

const FOR_TESTS = ["serve", "--for-tests"];
const MAX_START_MS = 30_000;
/** Longer than a server takes to stop: its requests have ten seconds. */
const MAX_STOP_MS = 15_000;
/** How much of what a server prints about its start is in an error, in characters. */
const MAX_PROBLEM = 2_000;
/** Names the server of the run and its log file for the processes that the runner starts. */
const RUN_LOG = "RESTANTE_RUN_LOG";

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
  const { apiKey, dataDir, httpListen, smtpListen } = options;
  const named = { "--data-dir": dataDir, "--http-listen": httpListen, "--smtp-listen": smtpListen };
  const chosen = Object.entries(named).filter((flag): flag is [string, string] => flag[1] !== undefined);
  const env = { ...process.env, ...(apiKey === undefined ? {} : { RESTANTE_API_KEY: apiKey }) };
  const child = spawn(findBinary(), [...FOR_TESTS, ...chosen.flat(), ...(options.flags ?? [])], {
    env,
    windowsHide: true,
  });
  let problem = "";
  child.stderr.on("data", (part: Buffer) => (problem = (problem + part.toString()).slice(-MAX_PROBLEM)));
  child.stdin.on("error", () => undefined);
  const ended = new Promise<undefined>((resolve) => {
    child.once("error", ({ message }) => resolve(void (problem = message)));
    child.once("close", (code, signal) => resolve(void (problem ||= `it ended with ${code ?? signal}`)));
  });
  const line = new Promise<string>((resolve) => createInterface({ input: child.stdout }).once("line", resolve));
  const stop = async () => {
    child.ref();
    child.stdin.end();
    await within(MAX_STOP_MS, ended, () => child.kill("SIGKILL"));
    await ended;
  };
  const first = await within(MAX_START_MS, Promise.race([line, ended]), () => undefined);
  // It does not keep this process alive.
  child.unref();
  for (const pipe of [child.stdin, child.stdout, child.stderr]) if (pipe instanceof Socket) pipe.unref();
  try {
    return { ...addressOf(first, problem, apiKey), stop };
  } catch (error) {
    child.kill("SIGKILL");
    throw error;
  }
}

/**
 * The server that belongs to a process. The first caller starts it; it stops when that process has ended.
 * @internal
 */
export function serverOfProcess(owner: number): ServerAddress {
  const flags = [...FOR_TESTS, "--shared", `javascript-${owner}`, "--owner", String(owner)];
  const started = spawnSync(findBinary(), flags, { encoding: "utf8", timeout: MAX_START_MS, windowsHide: true });
  const { pid: _pid, ...server } = addressOf(started.stdout, started.error?.message ?? started.stderr);
  process.env[RUN_LOG] = `${server.url} ${server.log}`;
  return server;
}

/** The addresses in the line that a server has printed, or an error with the reason why it has printed none. */
function addressOf(line: string | undefined, problem: string, ownKey?: string): Omit<Server, "stop"> {
  const printed = parsed(line);
  if (printed === undefined) throw notStarted(line ? `it is no restante: it printed ${line}` : problem);
  const { url, pid, smtp, mailDomain, log } = printed;
  const apiKey = printed.apiKey ?? ownKey ?? variable("RESTANTE_API_KEY");
  if (apiKey === undefined) throw notStarted("its data directory has an unknown key; set RESTANTE_API_KEY to it");
  return { url, apiKey, smtp, mailDomain, mailpitUrl: printed.mailpitUrl ?? mailpitUrl(url), pid, log };
}

type Printed = Omit<Server, "stop" | "apiKey" | "mailpitUrl"> & Record<"apiKey" | "mailpitUrl", string | null>;

function parsed(line = ""): Printed | undefined {
  try {
    const printed = fromWire(JSON.parse(line)) as Partial<Printed> | null;
    return typeof printed?.url === "string" ? (printed as Printed) : undefined;
  } catch {
    return undefined;
  }
}

function notStarted(why: string): RestanteError {
  return new RestanteError(
    `The server did not start: ${why || `it printed no address within ${MAX_START_MS / 1000} s`}`,
  );
}

/**
 * The server of this run: that of `RESTANTE_URL`, or one that is started for the run and stops after it.
 * Call it in the configuration of a test runner; the processes that the runner starts find the server in their
 * environment. It returns when the server is ready.
 */
export function serverForRun(): ServerAddress {
  const url = variable("RESTANTE_URL");
  if (url !== undefined) {
    const apiKey = variable("RESTANTE_API_KEY") ?? "";
    const mailDomain = variable("RESTANTE_MAIL_DOMAIN") ?? DEFAULT_DOMAIN;
    return { url, apiKey, smtp: smtpAddress(url), mailDomain, mailpitUrl: namedMailpitUrl(url) };
  }
  const server = serverOfProcess(process.pid);
  process.env.RESTANTE_URL = server.url;
  process.env.RESTANTE_API_KEY = server.apiKey;
  process.env.RESTANTE_SMTP = hostAndPort(server.smtp);
  process.env.RESTANTE_MAIL_DOMAIN = server.mailDomain;
  process.env.RESTANTE_MAILPIT_URL = server.mailpitUrl;
  return server;
}

/**
 * The log file of the server at `url`, if it was started for this run.
 * @internal
 */
export function logOfRun(url: string): string | undefined {
  const noted = process.env[RUN_LOG] ?? "";
  return noted.startsWith(`${url} `) ? noted.slice(url.length + 1) : undefined;
}
