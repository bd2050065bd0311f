/**
 * Takes screenshots of messages in a separate browser and process, so that Playwright's recordings of the test (traces,
 * screenshots, videos) do not contain them. Started by report.ts, which writes the order to standard input.
 */

import { readFile } from "node:fs/promises";
import { text } from "node:stream/consumers";

import { chromium, firefox, webkit, type Browser, type LaunchOptions } from "@playwright/test";

/** A usual width for mail; the screenshot is as high as the message. */
const VIEWPORT = { width: 800, height: 100 };
/** The part of the time that one page may take, so that a page that hangs does not use up the time of all. */
const PAGE_PART = 3 / 4;

/** The screenshots to take, and the browser. */
export interface Order {
  browserName: "chromium" | "firefox" | "webkit";
  launch: LaunchOptions;
  /** The endpoint of a remote browser. */
  endpoint: string | undefined;
  /** How long all screenshots together may take, in milliseconds. */
  timeout: number;
  pages: { html: string; picture: string }[];
}

async function take(browser: Browser, { html, picture }: Order["pages"][number], timeout: number): Promise<void> {
  const page = await browser.newPage({ viewport: VIEWPORT, javaScriptEnabled: false, offline: true });
  await page.setContent(await readFile(html, "utf8"), { timeout });
  await page.screenshot({ path: picture, fullPage: true, timeout });
  await page.close();
}

async function main(): Promise<void> {
  const { browserName, launch, endpoint, timeout, pages } = JSON.parse(await text(process.stdin)) as Order;
  const type = { chromium, firefox, webkit }[browserName];
  const browser = await (endpoint === undefined ? type.launch(launch) : type.connect(endpoint));
  try {
    // A page that fails does not prevent the screenshots of the others.
    await Promise.allSettled(pages.map((page) => take(browser, page, timeout * PAGE_PART)));
  } finally {
    await browser.close();
  }
}

void main();
