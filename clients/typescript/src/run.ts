/**
 * One server for a whole test run. A keeper process starts it and ends after the run's first process, so the
 * server outlives each worker, but not the run.
 */

import { spawn } from "node:child_process";
import { lstatSync, mkdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { RestanteError } from "./errors.js";
import type { ServerAddress } from "./launch.js";
import { identityOf, prefix, read, removeAbandoned, removeIfEnded } from "./processes.js";
import { now } from "./runtime.js";
import { hostAndPort, namedMailpitUrl, smtpAddress, variable } from "./settings.js";

const MAX_START_MS = 30_000;
const PAUSE = 5;
/** Names the server of the run and its log file for the processes that the runner starts. */
const RUN_LOG = "RESTANTE_RUN_LOG";
/**
 * The files that the keeper writes to the directory of the run.
 * @internal
 */
export const FILES = { server: "server.json", error: "error.txt" } as const;

/**
 * The server of this run: that of `RESTANTE_URL`, or one that is started for the run and stops after it.
 * Call it in the configuration of a test runner; the processes that the runner starts find the server in their
 * environment. It returns when the server is ready.
 */
export function serverForRun(): ServerAddress {
  const url = variable("RESTANTE_URL");
  if (url !== undefined) {
    const apiKey = variable("RESTANTE_API_KEY") ?? "";
    const mailDomain = variable("RESTANTE_MAIL_DOMAIN") ?? "restante.example.com";
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

/**
 * The server that belongs to a process. The first caller starts it; it stops when that process has ended.
 * @internal
 */
export function serverOfProcess(owner: number): ServerAddress {
  const identity = identityOf(owner);
  const folder = join(tmpdir(), `${prefix("run")}${identity}`);
  removeIfEnded(folder, keeperOf(folder));
  if (isFirst(folder)) {
    startKeeper(folder, identity);
    removeAbandoned(prefix("run"), keeperOf);
  }
  const server = waitFor(folder);
  if (server.log !== undefined) process.env[RUN_LOG] = `${server.url} ${server.log}`;
  return server;
}

/** The identity of the keeper of a directory; undefined if its file is not there or says nothing about one. */
function keeperOf(folder: string): string | undefined {
  try {
    const noted: unknown = JSON.parse(read(join(folder, FILES.server)) ?? "");
    return typeof noted === "object" && noted !== null && "keeper" in noted ? String(noted.keeper) : undefined;
  } catch {
    return undefined;
  }
}

/** Creates the directory; true for only one of several callers. A directory of another user is not trusted. */
function isFirst(folder: string): boolean {
  try {
    mkdirSync(folder, { mode: 0o700 });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
  if (process.getuid && lstatSync(folder).uid !== process.getuid()) {
    throw new RestanteError(`${folder} belongs to another user. Remove it, or set TMPDIR to another directory.`);
  }
  return false;
}

function startKeeper(folder: string, owner: string): void {
  const script = join(__dirname, "keeper.js");
  const options = { detached: true, stdio: "ignore", windowsHide: true } as const;
  spawn(process.execPath, [script, folder, owner], { ...options, env: keeperEnvironment() }).unref();
}

/** The environment without variables that a runner sets for its own processes, for example a debugger. */
function keeperEnvironment(): NodeJS.ProcessEnv {
  const { NODE_OPTIONS: _options, ...environment } = process.env;
  return environment;
}

/** Waits synchronously, because a configuration file is read synchronously. */
function waitFor(folder: string): ServerAddress {
  const deadline = now() + MAX_START_MS;
  const sleeper = new Int32Array(new SharedArrayBuffer(4));
  while (now() < deadline) {
    const server = read(join(folder, FILES.server));
    if (server !== undefined) return (JSON.parse(server) as { server: ServerAddress }).server;
    const error = read(join(folder, FILES.error));
    if (error !== undefined) throw new RestanteError(error);
    Atomics.wait(sleeper, 0, 0, PAUSE);
  }
  throw new RestanteError(`No server was started within ${MAX_START_MS / 1000} s. Remove ${folder} and try again.`);
}
