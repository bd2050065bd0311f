/** The published declarations type-check in a user's project, for each way to find modules. */

import { execFile } from "node:child_process";
import { mkdtempSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

import { expect, test } from "vitest";

const MODULES = join(__dirname, "../node_modules");

const USER = `
import { Restante, serverForRun, type Message } from "restante";
import { setupRestante, type CypressFilters, type CypressInbox } from "restante/cypress";
import "restante/cypress/commands";
import { expect, test } from "restante/playwright";

serverForRun();

test("sign up", async ({ restante, inbox, newInbox }) => {
  const client: Restante = restante;
  await expect(inbox).toReceive({ subject: /confirm/i });
  const message: Message = await (await newInbox()).waitForMessage();
  expect(message).not.toHaveLink("/track");
  await client.close();
});

const config = { taskTimeout: 1, baseUrl: "http://127.0.0.1:3000" };
const configured: Promise<typeof config> = setupRestante(() => undefined, config);
configured.catch(() => undefined);
const filters: CypressFilters = { subject: /confirm/i, has: "code", timeout: 20_000 };
const wait = (cy: Cypress.Chainable, inbox: CypressInbox) => cy.waitForMessage(inbox, filters);
wait satisfies (cy: Cypress.Chainable, inbox: CypressInbox) => Cypress.Chainable<{ subject: string }>;
`;

const MODES = [
  ["node16", "node16"],
  ["nodenext", "nodenext"],
  ["bundler", "esnext"],
] as const;

/** What the compiler says about a user's file. */
async function problems(user: string, options: Record<string, unknown>): Promise<string> {
  const project = mkdtempSync(join(tmpdir(), "restante-types-"));
  symlinkSync(MODULES, join(project, "node_modules"));
  writeFileSync(join(project, "user.ts"), user);
  const compilerOptions = { target: "es2022", strict: true, noEmit: true, skipLibCheck: false, ...options };
  writeFileSync(join(project, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["user.ts"] }));
  const tsc = join(MODULES, "typescript/bin/tsc");
  const { stdout } = await promisify(execFile)(process.execPath, [tsc, "-p", project]).catch(
    (error: unknown) => error as { stdout: string },
  );
  return stdout;
}

test.for(MODES)("moduleResolution %s", async ([moduleResolution, module]) => {
  expect(await problems(USER, { module, moduleResolution, types: ["node"] })).toBe("");
});

test("the client needs no types of Node in the user's configuration", async () => {
  const user = `
    import { Restante, type Attachment } from "restante";
    import "restante/cypress/commands";
    export const invoice = async (client: Restante): Promise<Attachment> =>
      (await (await client.createInbox()).waitForMessage()).attachment("*.pdf");`;
  expect(await problems(user, { module: "nodenext", types: [] })).toBe("");
});
