/** Attaches the mail of a test's inboxes to its report: a picture, the page, the bytes, and what was read. */

import { writeFile } from "node:fs/promises";

import type { Browser, TestInfo } from "@playwright/test";

import type { Inbox } from "../inbox.js";
import type { Message } from "../message.js";
import { timedOutWaits } from "./runner.js";

/** As wide as a mail is read; the picture is as high as the mail. */
const VIEWPORT = { width: 800, height: 100 };
const LONGEST_PICTURE = 5_000;
/** The report opens the page at its own address, so nothing in the page may run or load. */
const POLICY =
  '<meta http-equiv="Content-Security-Policy" ' +
  `content="default-src 'none'; img-src data:; style-src 'unsafe-inline'; form-action 'none'">`;

/** Attaches the messages of all inboxes, oldest first, and why waits timed out. Never fails the test. */
export async function attachMail(testInfo: TestInfo, inboxes: Inbox[], launch: () => Promise<Browser>): Promise<void> {
  for (const { explanation } of timedOutWaits(testInfo)) {
    if (explanation) await attachJson(testInfo, "why no mail came", explanation);
  }
  const lists = await Promise.all(inboxes.map((inbox) => inbox.messages().catch(() => [])));
  const messages = lists.flatMap((list) => list.reverse());
  if (messages.length === 0) return;
  const browser = await launch().catch(() => undefined);
  try {
    for (const [index, message] of messages.entries()) {
      await attachMessage(testInfo, message, index + 1, browser).catch((error: unknown) =>
        testInfo.attach(`mail ${index + 1}: not attached`, { body: String(error) }),
      );
    }
  } finally {
    await browser?.close();
  }
}

async function attachMessage(testInfo: TestInfo, message: Message, number: number, browser?: Browser): Promise<void> {
  const name = `mail ${number}: ${message.subject.slice(0, 60)}`;
  const html = POLICY + (await message.page());
  const picture = browser && (await pictureOf(browser, html).catch(() => undefined));
  if (picture) await testInfo.attach(name, { body: picture, contentType: "image/png" });
  // As a file, for reporters print the text of what is attached without one.
  const path = testInfo.outputPath(`mail-${number}.html`);
  await writeFile(path, html);
  await testInfo.attach(`${name} (page)`, { path, contentType: "text/html" });
  await testInfo.attach(`${name} (as received)`, { body: await message.raw(), contentType: "message/rfc822" });
  const { from, to, subject, otp, links, text, receivedAt } = message;
  await attachJson(testInfo, `${name} (code and links)`, { from, to, subject, receivedAt, code: otp, links, text });
}

async function pictureOf(browser: Browser, html: string): Promise<Buffer> {
  const page = await browser.newPage({ viewport: VIEWPORT, javaScriptEnabled: false, offline: true });
  try {
    await page.setContent(html, { timeout: LONGEST_PICTURE });
    return await page.screenshot({ fullPage: true, timeout: LONGEST_PICTURE });
  } finally {
    await page.close();
  }
}

async function attachJson(testInfo: TestInfo, name: string, value: unknown): Promise<void> {
  await testInfo.attach(name, { body: JSON.stringify(value, null, 2), contentType: "application/json" });
}
