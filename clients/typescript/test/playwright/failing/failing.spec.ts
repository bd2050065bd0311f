import { join } from "node:path";

import nodemailer from "nodemailer";
import { Inbox, Restante } from "restante";
import { expect, test } from "restante/playwright";

async function mail({ smtp }: Restante, to: string, subject: string): Promise<void> {
  const transport = nodemailer.createTransport({ ...smtp, ignoreTLS: true });
  await transport.sendMail({ from: "a@app.example", to, subject, text: "No code here" });
}

test("the mail has another subject", async ({ restante, inbox }) => {
  // The screenshot in the report gets a part of this time, and a busy machine needs it.
  test.setTimeout(90_000);
  const transport = nodemailer.createTransport({ ...restante.smtp, ignoreTLS: true });
  await transport.sendMail({
    from: "Example shop <shop@app.example>",
    to: inbox.address,
    subject: "Welcome to the shop",
    text: "Your code is 482913. https://app.example/start",
    html: '<h1>Welcome!</h1><p>Your code is <b>482913</b>. <a href="https://app.example/start">Start</a></p>',
  });

  await inbox.waitForMessage({ subject: "confirm", timeout: 1_000 });
});

test("a pattern does not match", async ({ restante, inbox }) => {
  await mail(restante, inbox.address, "Welcome");

  await inbox.waitForMessage({ subject: /^confirm/, timeout: 500 });
});

test("the address has a slash", async ({ restante, inboxFor }) => {
  const inbox = await inboxFor(`qa/ada@${restante.mailDomain}`);
  await mail(restante, inbox.address, "Hello");

  await inbox.waitForMessage({ subject: "confirm", timeout: 300 });
});

test("there are many messages", async ({ restante, inbox }) => {
  test.setTimeout(90_000);
  for (let number = 1; number <= 12; number++) await mail(restante, inbox.address, `Number ${number}`);

  await inbox.waitForMessage({ subject: "confirm", timeout: 300 });
});

test("the mail arrives after the wait", async ({ restante, inbox }) => {
  const waiting = inbox.waitForMessage({ subject: /^Late/, timeout: 300 });
  await waiting.catch(() => mail(restante, inbox.address, "Late"));
  await waiting;
});

test("nothing came", async ({ inbox }) => {
  await inbox.waitForMessage({ timeout: 500 });
});

test("a timeout that the test expects", async ({ inbox }) => {
  await expect(inbox.waitForMessage({ subject: "expected", timeout: 0 })).rejects.toThrow("No message");
});

test("the wait is longer than the test", async ({ inbox }) => {
  test.setTimeout(4_000);

  await inbox.waitForMessage();
});

test("a tenth of a long test is left for its report", async ({ inbox }, testInfo) => {
  const runner = join(__dirname, "../../../dist/playwright/runner.js");
  const { runnerHooks } = (await import(runner)) as typeof import("../../../src/playwright/runner.js");
  expect(inbox.address).toContain("@");
  testInfo.setTimeout(100_000);
  const limit = runnerHooks.limit(600_000);
  expect(limit).toBeGreaterThan(60_000);
  expect(limit).toBeLessThanOrEqual(90_000);
});

test("an expectation fails after the message arrived", async ({ restante, inbox }) => {
  await mail(restante, inbox.address, "Hello");

  const message = await inbox.waitForMessage();

  expect(message).toHaveCode();
});

test("a message arrived unexpectedly", async ({ restante, inbox }) => {
  await mail(restante, inbox.address, "Surprise");

  await expect(inbox).not.toReceive({ timeout: 1_000 });
});

test.describe("without attachments", () => {
  test.use({ restanteAttach: "off" });

  test("a failure that attaches nothing", async ({ restante, inbox }) => {
    await mail(restante, inbox.address, "Hello");

    await inbox.waitForMessage({ subject: "confirm", timeout: 300 });
  });
});

test.describe("with attachments", () => {
  test.use({ restanteAttach: "always" });

  test("a success that attaches its mail", async ({ restante, inbox }) => {
    test.info().annotations.push({ type: "inbox", description: inbox.address });
    await mail(restante, inbox.address, "Hello");

    await inbox.waitForMessage();
  });
});

test.describe.serial("steps", () => {
  let first: Inbox;

  test("the first step gets mail", async ({ restante, inbox, workerInbox }) => {
    first = inbox;
    await mail(restante, inbox.address, "One");
    await mail(restante, workerInbox.address, "Two");
    await workerInbox.waitForMessage();
  });

  test("the second step reads the mail of the first", async ({ workerInbox }) => {
    expect(await first.waitForMessage()).toMatchObject({ subject: "One" });
    expect(await workerInbox.messages()).toHaveLength(1);
  });
});
