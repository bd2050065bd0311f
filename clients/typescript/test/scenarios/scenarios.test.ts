/** Every scenario of clients/scenarios.json, against real servers. */

import { readFileSync } from "node:fs";
import { join } from "node:path";

import { afterAll, beforeAll, test } from "vitest";

import type { Scenario } from "./format.js";
import { runSteps } from "./runner.js";
import { TestServer } from "./server.js";

const FILE = join(__dirname, "../../../scenarios.json");
const { scenarios } = JSON.parse(readFileSync(FILE, "utf8")) as { scenarios: Scenario[] };

let shared: TestServer;

beforeAll(async () => {
  shared = await TestServer.start([]);
});

afterAll(() => shared.stop());

test.for(scenarios)("$name", { concurrent: true }, async ({ name, flags, steps }) => {
  const names = { scenario: name };
  if (flags === undefined) {
    await runSteps(shared, steps, names);
    return;
  }
  const server = await TestServer.start(flags);
  try {
    await runSteps(server, steps, names);
  } finally {
    await server.stop();
  }
});
