/** An HTTP server that answers as a test says, for what the real server cannot be made to do. */

import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import { onTestFinished } from "vitest";

/** An answer: a status, with a body and headers, after an event or some milliseconds; or the connection is cut. */
export type Scripted = Answer | "cut";

interface Answer {
  status: number;
  body?: unknown;
  headers?: Record<string, string>;
  /** The event that the answer waits for, before `after`. */
  when?: Promise<unknown>;
  after?: number;
  /** The status of the answer to a request for the details of this message; by default 404: it was deleted. */
  details?: number;
}

/** What the server received. */
export interface Received {
  method: string;
  url: URL;
}

/** Starts a server that gives the answers one after another, the last one for good. */
export function scripted(...answers: Scripted[]): Promise<{ url: string; received: Received[] }> {
  return scriptedAt(0, ...answers);
}

/** The same, on a port. */
export async function scriptedAt(port: number, ...answers: Scripted[]): Promise<{ url: string; received: Received[] }> {
  const received: Received[] = [];
  const server = createServer((request: IncomingMessage, response) => {
    if (request.url?.endsWith("/details")) {
      const answered = answers[Math.min(received.length, answers.length) - 1];
      response.writeHead(typeof answered === "object" ? (answered.details ?? 404) : 404);
      response.end(JSON.stringify({ error: "no details" }));
      return;
    }
    const answer = answers[Math.min(received.length, answers.length - 1)] ?? "cut";
    received.push({ method: request.method ?? "", url: new URL(request.url ?? "", "http://localhost") });
    if (answer === "cut") {
      request.socket.destroy();
      return;
    }
    const respond = () => {
      response.writeHead(answer.status, answer.headers);
      response.end(answer.body === undefined ? "" : JSON.stringify(answer.body));
    };
    void Promise.resolve(answer.when).then(() => setTimeout(respond, answer.after ?? 0));
  });
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  return { url: `http://127.0.0.1:${typeof address === "object" && address?.port}`, received };
}

/** An inbox as returned by the server. */
export const INBOX = {
  id: "k3v9w0qdm4xt2p7h",
  address: "k3v9w0qdm4xt2p7h@restante.example.com",
  kind: "temporary",
  created_at: "2026-11-20T09:30:00.123Z",
  expires_at: "2026-11-20T10:30:00.123Z",
};

/** The answer to a creation. */
export const CREATED_INBOX: Scripted = { status: 201, body: INBOX };

/** A message as returned by the server. */
export const MESSAGE = {
  id: "m1",
  inbox_id: INBOX.id,
  from: "shop@example.com",
  to: INBOX.address,
  subject: "Confirm",
  text: "",
  html: "",
  links: [],
  otp: "",
  received_at: "2026-11-20T09:30:02.456Z",
};
