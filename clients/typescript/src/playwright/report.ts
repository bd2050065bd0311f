/** Attaches the mail of a test's inboxes to its report: timelines, screenshots, pages, raw messages, parsed fields. */

import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { TestInfo } from "@playwright/test";

import type { Inbox } from "../inbox.js";
import type { Message } from "../message.js";
import { timelineText } from "../timeline.js";
import type { Order } from "./pictures.js";
import { timedOutWaits } from "./runner.js";

/** The maximum number of messages of an inbox that are attached, the newest: that of a fixed address may have many. */
const MAX_MESSAGES = 10;
/** The time of a test without a limit, in milliseconds: Playwright's default. */
const DEFAULT_TEST_MS = 30_000;
/** The part of this time that all screenshots together may take, because Playwright limits the end of a test too. */
const PICTURES_PART = 2 / 3;
/** The longest that they may take, so that a browser that hangs does not use up the time of a long test. */
const MAX_PICTURES_MS = 60_000;
/** The report opens the page at its own address, so the page must not run scripts or load anything. */
const POLICY =
  '<meta http-equiv="Content-Security-Policy" ' +
  `content="default-src 'none'; img-src data:; style-src 'unsafe-inline'; form-action 'none'">`;

/** The browser of the test. */
export type PictureBrowser = Omit<Order, "pages" | "timeout">;

interface Page {
  message: Message;
  html: string;
  picture: string;
}

/** Attaches the timelines and messages of all inboxes, and why waits timed out. Never fails the test. */
export async function attachMail(testInfo: TestInfo, inboxes: Inbox[], browser: PictureBrowser): Promise<void> {
  for (const { error } of timedOutWaits(testInfo)) {
    const { link } = error;
    // Reporters write annotations too: the JUnit reporter as properties of the test.
    if (link) testInfo.annotations.push({ type: "what happened during the wait", description: link });
    const explanation = (await error.explainNow()) ?? error.explanation;
    if (!explanation) continue;
    await attachJson(testInfo, "why no message arrived", { ...explanation, link });
    testInfo.annotations.push({ type: "why no message arrived", description: explanation.summary });
  }
  const lists = await Promise.all(inboxes.map((inbox) => inbox.newest(MAX_MESSAGES).catch(() => [])));
  const messages = lists.flatMap((list) => list.reverse());
  const urls = inboxes.map(({ dashboardUrl }) => dashboardUrl);
  if (urls.length > 0) testInfo.annotations.push({ type: "mail in the dashboard", description: urls.join(" ") });
  const folder = await mkdtemp(join(tmpdir(), "restante-report-"));
  try {
    for (const inbox of inboxes) await attachTimeline(testInfo, inbox, folder);
    if (messages.length > 0) await attachMessages(testInfo, messages, folder, browser);
  } catch (error) {
    await testInfo.attach("mail is missing", { body: String(error) });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Attached as a file, because reporters print the text of other attachments. */
async function attachTimeline(testInfo: TestInfo, inbox: Inbox, folder: string): Promise<void> {
  const events = await inbox.events().catch(() => []);
  if (events.length === 0) return;
  // The id of an inbox is the start of its address, which may contain a slash.
  const path = join(folder, `timeline-${inbox.id.replace(/[^\w.-]/g, "_")}.txt`);
  await writeFile(path, timelineText(events));
  await testInfo.attach(`timeline of ${inbox.address}`, { path, contentType: "text/plain" });
}

async function attachMessages(testInfo: TestInfo, messages: Message[], folder: string, browser: PictureBrowser) {
  const pages = await Promise.all(
    messages.map((message, index) => writePage(message, join(folder, `mail-${index + 1}`))),
  );
  const timeout = Math.min((testInfo.timeout || DEFAULT_TEST_MS) * PICTURES_PART, MAX_PICTURES_MS);
  await takePictures({ ...browser, timeout, pages: pages.map(({ html, picture }) => ({ html, picture })) });
  for (const [index, page] of pages.entries()) await attachMessage(testInfo, page, index + 1);
}

async function writePage(message: Message, path: string): Promise<Page> {
  const html = `${path}.html`;
  await writeFile(html, POLICY + (await message.page()));
  return { message, html, picture: `${path}.png` };
}

/** Takes the screenshots. Without a browser, or if it needs too long, the report has none. */
function takePictures(order: Order): Promise<void> {
  return new Promise((resolve) => {
    const script = join(__dirname, "pictures.js");
    const child = execFile(process.execPath, [script], { timeout: order.timeout }, () => resolve());
    child.stdin?.on("error", () => undefined).end(JSON.stringify(order));
  });
}

async function attachMessage(testInfo: TestInfo, { message, html, picture }: Page, number: number): Promise<void> {
  const name = `mail ${number}: ${message.subject.slice(0, 60)}`;
  const body = await readFile(picture).catch(() => undefined);
  if (body) await testInfo.attach(name, { body, contentType: "image/png" });
  await testInfo.attach(`${name} (page)`, { path: html, contentType: "text/html" });
  await testInfo.attach(`${name} (as received)`, { body: await message.raw(), contentType: "message/rfc822" });
  const { from, to, subject, links, text, receivedAt } = message;
  const codes = message.labelledCodes();
  await attachJson(testInfo, `${name} (codes and links)`, { from, to, subject, receivedAt, codes, links, text });
}

async function attachJson(testInfo: TestInfo, name: string, value: unknown): Promise<void> {
  await testInfo.attach(name, { body: JSON.stringify(value, null, 2), contentType: "application/json" });
}
