/**
 * Takes pictures of pages in a browser and a process of their own: what Playwright records of the test (traces,
 * screenshots, videos) must not have them. Started by report.ts with its order on standard input.
 */

import { readFile } from "node:fs/promises";
import { text } from "node:stream/consumers";

import { chromium, firefox, webkit, type Browser, type LaunchOptions } from "@playwright/test";

/** As wide as a mail is read; the picture is as high as the mail. */
const VIEWPORT = { width: 800, height: 100 };
const LONGEST_PICTURE = 5_000;

/**
 * What pictures to take, and with which browser.
 * @internal
 */
export interface Order {
  browserName: "chromium" | "firefox" | "webkit";
  launch: LaunchOptions;
  /** A browser that runs elsewhere. */
  endpoint: string | undefined;
  pages: { html: string; picture: string }[];
}

async function take(browser: Browser, { html, picture }: Order["pages"][number]): Promise<void> {
  const page = await browser.newPage({ viewport: VIEWPORT, javaScriptEnabled: false, offline: true });
  await page.setContent(await readFile(html, "utf8"), { timeout: LONGEST_PICTURE });
  await page.screenshot({ path: picture, fullPage: true, timeout: LONGEST_PICTURE });
  await page.close();
}

async function main(): Promise<void> {
  const { browserName, launch, endpoint, pages } = JSON.parse(await text(process.stdin)) as Order;
  const type = { chromium, firefox, webkit }[browserName];
  const browser = await (endpoint === undefined ? type.launch(launch) : type.connect(endpoint));
  try {
    // One bad page does not cost the others their picture.
    await Promise.allSettled(pages.map((page) => take(browser, page)));
  } finally {
    await browser.close();
  }
}

void main();
