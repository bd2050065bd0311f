/** What a runner or a library has replaced for a test has no effect on waits, or the error says what it was. */

import { execFile } from "node:child_process";
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import { join } from "node:path";
import { promisify } from "node:util";

import { beforeAll, expect, test } from "vitest";

import { totp } from "../src/index.js";
import { INBOX, MESSAGE } from "./scripted.js";

const PACKAGE = join(__dirname, "..");
const RUNNERS = {
  jest: ["--rootDir", "test/replaced", "--testMatch", "**/*.test.cjs", "--env"],
  vitest: ["run", "--config", "test/replaced/vitest.config.mts", "--environment"],
};
const EXPLANATION = { summary: "Nothing.", report: "Nothing.", messages: { count: 0, latest: [] }, refused: [] };
/** Its code changes once in three years, so it is not that of 1970, at which fake clocks stop. */
const AUTHENTICATOR = "otpauth://totp/Shop:ada?secret=GEZDGNBVGY3TQOJQ&period=100000000";

let url: string;

/** A server on which a wait has one message. Without it, it has too many waits, so the client pauses between requests. */
beforeAll(async () => {
  const server = createServer((request: IncomingMessage, response) => {
    const [status, body] = answer(request.method ?? "", request.url ?? "");
    response.writeHead(status).end(JSON.stringify(body));
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const address = server.address();
  url = `http://127.0.0.1:${typeof address === "object" && address?.port}`;
  return () => server.close();
});

function answer(method: string, path: string): [number, unknown] {
  if (method === "POST") return [201, INBOX];
  if (path.includes("/explain")) return [200, EXPLANATION];
  if (path.includes("/details")) return [404, { error: "message not found" }];
  return path.includes("subject=Confirm") ? [200, MESSAGE] : [429, { error: "too many concurrent waits" }];
}

/** What a runner prints about the tests in `replaced`. */
async function run(runner: keyof typeof RUNNERS, environment: string, replaced: string): Promise<string> {
  const { VITEST: _vitest, NODE_ENV: _env, ...env } = process.env;
  const settings = { REPLACED: replaced, RESTANTE_URL: url, RESTANTE_API_KEY: "key", AUTHENTICATOR };
  const options = { cwd: PACKAGE, env: { ...env, ...settings, CODE: await totp(AUTHENTICATOR), NO_COLOR: "1" } };
  const program = join(PACKAGE, "node_modules/.bin", runner);
  const { stdout, stderr } = await promisify(execFile)(program, [...RUNNERS[runner], environment], options).catch(
    (error: unknown) => error as { stdout: string; stderr: string },
  );
  return stdout + stderr;
}

test.concurrent.for<["jest" | "vitest", string, string]>([
  ["jest", "node", "timers"],
  ["jest", "node", "early timers"],
  ["jest", "node", "early legacy-timers"],
  ["jest", "jsdom", "early timers fetch"],
  ["vitest", "node", "timers"],
  ["vitest", "node", "early timers fetch"],
  ["vitest", "jsdom", "early timers"],
  ["vitest", "happy-dom", "early timers"],
  ["vitest", "node", "nock"],
  ["vitest", "node", "msw"],
  ["vitest", "node", "early msw"],
  ["jest", "node", "nock"],
])("%s in %s with %s", async ([runner, environment, replaced]) => {
  expect(await run(runner, environment, replaced)).toMatch(/2 passed/);
});

test("what else intercepts requests is named in the error", async () => {
  expect(await run("vitest", "node", "early nock")).toContain("(Nock: Disallowed net connect for");
});
