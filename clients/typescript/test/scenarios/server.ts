/** The server of a scenario: started with flags, restarted in place. */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { startServer, type Server } from "../../src/index.js";
import { freePort } from "../port.js";

/** A server that can be restarted. */
export class TestServer {
  readonly #dataDir: string;
  readonly #flags: string[];
  #server: Server;

  private constructor(dataDir: string, flags: string[], server: Server) {
    this.#dataDir = dataDir;
    this.#flags = flags;
    this.#server = server;
  }

  static async start(flags: string[]): Promise<TestServer> {
    const dataDir = await mkdtemp(join(tmpdir(), "restante-test-"));
    // At a restart, no other server must have taken the ports.
    const [http, smtp] = [await freePort(), await freePort()];
    const listen = { httpListen: `127.0.0.1:${http}`, smtpListen: `127.0.0.1:${smtp}` };
    return new TestServer(dataDir, flags, await startServer({ dataDir, flags, ...listen }));
  }

  get address(): Server {
    return this.#server;
  }

  /** Stops the server, or kills it, and starts it again, with the same ports, data and key. */
  async restart(kill: boolean): Promise<void> {
    const { url, smtp, apiKey, pid } = this.#server;
    if (kill) process.kill(pid, "SIGKILL");
    await this.#server.stop();
    const listen = { httpListen: new URL(url).host, smtpListen: `${smtp.host}:${smtp.port}` };
    this.#server = await startServer({ dataDir: this.#dataDir, flags: this.#flags, apiKey, ...listen });
  }

  async stop(): Promise<void> {
    await this.#server.stop();
    await rm(this.#dataDir, { recursive: true });
  }

  /** Returns when a further wait returns 429: as many are open as may be. */
  async untilWaitsAreOpen(): Promise<void> {
    const headers = { Authorization: `Bearer ${this.#server.apiKey}` };
    const inboxes = `${this.#server.url}/v1/inboxes`;
    const { id } = (await (await fetch(inboxes, { method: "POST", headers })).json()) as { id: string };
    let status = 0;
    while (status !== 429) ({ status } = await fetch(`${inboxes}/${id}/messages/wait?timeout=1`, { headers }));
  }
}
