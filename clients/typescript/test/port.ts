/** Ports for programs that must listen on a port that was chosen before. */

import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";

/** A port that nothing listens on, and that the system does not give to a program that asks for any port. */
export async function freePort(): Promise<string> {
  for (;;) {
    const port = randomInt(12_000, 32_000);
    const server = createServer().listen(port, "127.0.0.1");
    const taken = await once(server, "listening").catch(() => true);
    if (taken === true) continue;
    server.close();
    await once(server, "close");
    return String(port);
  }
}
