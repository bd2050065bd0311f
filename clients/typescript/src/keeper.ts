/** Owns the server of a test run: starts it, publishes its address, and stops it when the run's first process ends. */

import { mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { startServer, type Server } from "./launch.js";
import { identityOf, isAlive } from "./processes.js";
import { FILES } from "./run.js";
import { sleep } from "./runtime.js";

const INTERVAL = 200;

async function keep(folder: string, owner: string): Promise<void> {
  const server = await start(folder);
  while (isAlive(owner)) await sleep(INTERVAL);
  await end(folder, server);
}

async function start(folder: string): Promise<Server | undefined> {
  try {
    const dataDir = join(folder, "data");
    mkdirSync(dataDir);
    const server = await startServer({ dataDir });
    const { stop: _stop, pid: _pid, ...address } = server;
    const text = JSON.stringify({ keeper: identityOf(process.pid), server: address });
    publish(join(folder, FILES.server), text);
    return server;
  } catch (error) {
    publish(join(folder, FILES.error), error instanceof Error ? error.message : String(error));
    return undefined;
  }
}

/** Writes a file atomically. */
function publish(path: string, text: string): void {
  writeFileSync(`${path}.new`, text, { mode: 0o600 });
  renameSync(`${path}.new`, path);
}

async function end(folder: string, server: Server | undefined): Promise<void> {
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
}

const [folder, owner] = process.argv.slice(2);
if (folder !== undefined && owner !== undefined) void keep(folder, owner);
