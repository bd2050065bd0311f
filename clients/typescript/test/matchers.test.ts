/** A matcher and its negation are never both true or both false: a table for each matcher. */

import nodemailer from "nodemailer";
import { afterAll, beforeAll, expect, test } from "vitest";

import { Http } from "../src/http.js";
import { Message, Restante, type LinkMatch, type WaitOptions } from "../src/index.js";
import { expect as ofPlaywright, matchers } from "../src/playwright/matchers.js";
import { fromWire, type MessageFields } from "../src/types.js";
import { MESSAGE } from "./scripted.js";

let restante: Restante;

beforeAll(async () => {
  restante = await Restante.connect();
});

afterAll(() => restante.close());

function message(fields: { otp?: string; links?: string[] }): Message {
  const all = fromWire({ ...MESSAGE, ...fields }) as MessageFields;
  return new Message(new Http("http://127.0.0.1:9", "key", 0), all);
}

interface Assertions {
  toHaveCode(code?: string): void;
  toHaveLink(match?: LinkMatch): void;
  toReceive(options: WaitOptions): Promise<void>;
}

/** Whether the assertion and its negation pass, with the `expect` of Playwright. */
async function both(assertion: (matchers: Assertions) => unknown, actual: () => unknown): Promise<[boolean, boolean]> {
  const passes = async (negated: boolean) => {
    const expected = ofPlaywright(actual());
    try {
      await assertion((negated ? expected.not : expected) as unknown as Assertions);
      return true;
    } catch (error) {
      expect(String(error)).not.toMatch(/TypeError|RangeError/);
      return false;
    }
  };
  return [await passes(false), await passes(true)];
}

const NONE: string[] = [];
const ONE = ["https://a.example/track?1", "https://a.example/confirm"];
const SEVERAL = ["https://a.example/track?1", "https://a.example/track?2"];

test.for<[string, string[], LinkMatch | undefined, boolean]>([
  ["none, any", NONE, undefined, false],
  ["none, a text", NONE, "/track", false],
  ["others, a text", ONE, "/reset", false],
  ["one, a text", ONE, "/track", true],
  ["one, a pattern", ONE, /TRACK/i, true],
  ["one, a function", ONE, (url) => url.endsWith("confirm"), true],
  ["several, any", SEVERAL, undefined, true],
  ["several, a text", SEVERAL, "/track", true],
  ["several, a pattern", SEVERAL, /track/g, true],
  ["several, a function", SEVERAL, () => true, true],
])("toHaveLink: %s", async ([, links, match, holds]) => {
  const found = await both(
    (matchers) => matchers.toHaveLink(match),
    () => message({ links }),
  );
  expect(found).toEqual([holds, !holds]);
});

test.for<[string, string, string | undefined, boolean]>([
  ["none, any", "", undefined, false],
  ["none, a code", "", "482913", false],
  ["none, an empty code", "", "", false],
  ["one, any", "482913", undefined, true],
  ["one, this one", "482913", "482913", true],
  ["one, another", "482913", "111111", false],
])("toHaveCode: %s", async ([, otp, code, holds]) => {
  const found = await both(
    (matchers) => matchers.toHaveCode(code),
    () => message({ otp }),
  );
  expect(found).toEqual([holds, !holds]);
});

async function inboxWith(...subjects: string[]) {
  const inbox = await restante.createInbox();
  const transport = nodemailer.createTransport({ ...restante.smtp, ignoreTLS: true });
  for (const subject of subjects) {
    await transport.sendMail({ from: "a@app.example", to: inbox.address, subject, text: "Hello" });
  }
  return inbox;
}

const TIMEOUT = { timeout: 200 };

test.for<[string, string[], WaitOptions, boolean]>([
  ["none", [], {}, false],
  ["others", ["Welcome"], { subject: "confirm" }, false],
  ["others, a pattern", ["Welcome"], { subject: /confirm/ }, false],
  ["one", ["Welcome"], {}, true],
  ["one of two, a text", ["Welcome", "Confirm"], { subject: "confirm" }, true],
  ["one of two, a pattern", ["Welcome", "Confirm"], { subject: /confirm/i }, true],
  ["one of two, a function", ["Welcome", "Confirm"], { where: (one) => one.subject === "Confirm" }, true],
  ["several", ["Welcome", "Confirm"], {}, true],
])("toReceive: %s", async ([, subjects, filters, holds]) => {
  const inboxes = [await inboxWith(...subjects), await inboxWith(...subjects)];
  const found = await both(
    (matchers) => matchers.toReceive({ ...filters, ...TIMEOUT }),
    () => inboxes.pop(),
  );
  expect(found).toEqual([holds, !holds]);
});

test("the matchers work in an expect that has no timeout", async () => {
  expect.extend(matchers as unknown as Parameters<typeof expect.extend>[0]);
  const extended = (actual: unknown) => (expect(actual) as unknown as { not: { toReceive(): Promise<void> } }).not;
  await extended(await inboxWith()).toReceive();
  await expect(extended(await inboxWith("Welcome")).toReceive()).rejects.toThrow('"Welcome" from a@app.example');
});
