import { appendFileSync } from "node:fs";

import { expect, test } from "restante/playwright";

const note = (text: string) => appendFileSync(process.env.NOTES ?? "", `${text}\n`);

test("@crash a worker dies", ({ restante, inbox }) => {
  note(restante.url);
  expect(inbox.address).toContain("@");
  process.kill(process.pid, "SIGKILL");
});

test("@crash the next worker has the same server", ({ restante, inbox }) => {
  note(restante.url);
  expect(inbox.address).toContain("@");
});

test("@wait the run is ended during a wait", async ({ restante, inbox }) => {
  note(restante.url);
  await inbox.waitForMessage({ timeout: 50_000 });
});

test("@stay the inboxes cannot be deleted", ({ inbox, workerInbox }) => {
  expect(inbox.address).toBe(workerInbox.address);
});
