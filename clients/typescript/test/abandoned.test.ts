/** What killed processes leave behind is removed by the next one, and nothing else. */

import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

import { expect, onTestFinished, test, vi } from "vitest";

import { startServer } from "../src/index.js";
import { prefix } from "../src/processes.js";

const PACKAGE = join(__dirname, "..");

function ownTemporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "restante-test-"));
  vi.stubEnv("TMPDIR", folder);
  onTestFinished(() => void vi.unstubAllEnvs());
  return folder;
}

test("a run removes the directories of killed runs, not those of other clients and of starting runs", async () => {
  const folder = ownTemporaryFolder();
  const go = `restante-run-${process.getuid?.()}-go-4711-5`;
  const files = {
    [go]: JSON.stringify({ url: "http://127.0.0.1:1", pid: 4711 }),
    [`${go}1`]: "",
    [`${prefix("run")}starting`]: "",
    [`${prefix("run")}null`]: "null",
    [`${prefix("run")}other`]: "{}",
    [`${prefix("run")}dead`]: JSON.stringify({ keeper: "999999999-1" }),
    [prefix("run").replace(/\d+-$/, "17-dead")]: JSON.stringify({ keeper: "999999999-1" }),
  };
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(folder, name));
    writeFileSync(join(folder, name, "server.json"), text);
  }
  const owner = spawn(process.execPath, ["-e", "process.stdin.resume()"], { stdio: "pipe" });
  const script = `require(${JSON.stringify(join(PACKAGE, "dist/run.js"))}).serverOfProcess(${owner.pid})`;
  await promisify(execFile)(process.execPath, ["-e", script]);
  const kept = Object.keys(files).filter((name) => name !== `${prefix("run")}dead`);
  const left = () => readdirSync(folder).filter((name) => !name.includes(`-${owner.pid}-`));
  expect(left().sort()).toEqual(kept.sort());
  owner.kill("SIGKILL");
  await vi.waitUntil(() => readdirSync(folder).length === kept.length, { timeout: 100_000 });
});

test("the data of a killed process is removed by the next server, and that of a running one is not", async () => {
  const folder = ownTemporaryFolder();
  const script = `
    const { Restante } = require(${JSON.stringify(PACKAGE)});
    Restante.connect().then(() => process.kill(process.pid, "SIGKILL"));`;
  await once(spawn(process.execPath, ["-e", script]), "close");
  const [dead = ""] = readdirSync(folder);
  expect(dead).not.toBe("");
  const first = await startServer();
  // The killed one's server may have been writing until now.
  await vi.waitUntil(
    async () => {
      await (await startServer()).stop();
      return !existsSync(join(folder, dead));
    },
    { timeout: 100_000 },
  );
  expect(readdirSync(folder)).toHaveLength(1);
  await first.stop();
  expect(readdirSync(folder)).toEqual([]);
});
