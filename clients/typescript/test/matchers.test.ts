/** A matcher and its negation are never both true or both false: a table for each matcher. */

import nodemailer from "nodemailer";
import { afterAll, beforeAll, expect, test } from "vitest";

import { Http } from "../src/http.js";
import { Message, Restante, type CheckOptions, type LinkMatch, type WaitOptions } from "../src/index.js";
import { expect as ofPlaywright, matchers } from "../src/playwright/matchers.js";
import { fromWire, type MessageDetails, type MessageFields } from "../src/types.js";
import { MESSAGE, scripted } from "./scripted.js";

let restante: Restante;

beforeAll(async () => {
  restante = await Restante.connect();
});

afterAll(() => restante.close());

const TEXTS = ["Confirm", "Confirm your account", "Help"];

/** A message whose first link has the first text, and so on. */
function message({ codes = [], links = [] }: { codes?: string[]; links?: string[] }): Message {
  const order = { text: "Order 482913 shipped.", otp: "482913" };
  const fields = fromWire({ ...MESSAGE, ...order, links }) as MessageFields;
  const details = {
    codes: codes.map((code) => ({ code, rule: "label_before", line: `Your code is ${code}.` })),
    links: links.map((url, index) => ({ url, text: TEXTS[index] ?? null, source: "html" })),
  };
  return new Message(new Http("http://127.0.0.1:9", "key", 0), fields, details as unknown as MessageDetails);
}

interface Assertions {
  toHaveCode(code?: string): void;
  toHaveLink(match?: LinkMatch): void;
  toPassChecks(options: CheckOptions): Promise<void>;
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
  ["none, words", NONE, { text: "Confirm" }, false],
  ["others, words", ONE, { text: "Reset" }, false],
  ["one, words", ONE, { text: /^confirm your/i }, true],
  ["several, words", SEVERAL, { text: "confirm" }, true],
])("toHaveLink: %s", async ([, links, match, holds]) => {
  const found = await both(
    (matchers) => matchers.toHaveLink(match),
    () => message({ links }),
  );
  expect(found).toEqual([holds, !holds]);
});

test.for<[string, string[], string | undefined, boolean]>([
  ["a number of an order, any", [], undefined, false],
  ["a number of an order, this one", [], "482913", false],
  ["none, an empty code", [], "", false],
  ["one, any", ["7710"], undefined, true],
  ["one, this one", ["7710"], "7710", true],
  ["one, another", ["7710"], "111111", false],
  ["letters", ["LZDG-RMHF"], "LZDG-RMHF", true],
  ["several, any", ["7710", "4821"], undefined, true],
  ["several, the second", ["7710", "4821"], "4821", true],
  ["several, another", ["7710", "4821"], "482913", false],
])("toHaveCode: %s", async ([, codes, code, holds]) => {
  const found = await both(
    (matchers) => matchers.toHaveCode(code),
    () => message({ codes }),
  );
  expect(found).toEqual([holds, !holds]);
});

test.for<[string, string[], string | RegExp | undefined, string | RegExp]>([
  [
    "none",
    [],
    undefined,
    /has no code\. Its numbers are not labelled as a code: 482913\. If one is the code, .* Its text:/,
  ],
  ["none, a pattern", [], /\d+/, /has no code/],
  ["one", ["LZDG-RMHF"], undefined, "LZDG-RMHF"],
  ["one, another is wanted", ["7710"], /^Z/, /no code that matches \/\^Z\/, but:\n +7710 in the line/],
  ["several", ["7710", "4821"], undefined, /has 2 codes\. .*:\n +7710 in .*\n +4821 in/],
  ["several, one matches", ["7710", "LZDG-RMHF"], /^[A-Z-]+$/, "LZDG-RMHF"],
  ["several, a part of one", ["7710", "4821"], "77", "7710"],
  ["several, all match", ["7710", "4821"], "your CODE", /has 2 codes/],
])("code(): %s", ([, codes, matching, expected]) => {
  const read = () => message({ codes }).code(matching === undefined ? {} : { matching });
  if (typeof expected === "string") expect(read()).toBe(expected);
  else expect(read).toThrow(expected);
});

test("a link is selected by its words", () => {
  const links = ["https://a.example/a", "https://a.example/b", "https://a.example/c"];
  expect(message({ links }).link({ text: "help" })).toBe(links[2]);
  expect(() => message({ links }).link({ text: "confirm" })).toThrow(
    /has 2 links that match the text "confirm".*\n +https:\/\/a\.example\/a \(Confirm\)/,
  );
});

test("an attachment is selected by its name", async () => {
  const inbox = await restante.createInbox();
  const transport = nodemailer.createTransport({ ...restante.smtp, ignoreTLS: true });
  const attachments = ["invoice (1).pdf", "terms.PDF", "logo.png"].map((filename) => ({ filename, content: filename }));
  await transport.sendMail({ from: "a@app.example", to: inbox.address, subject: "Invoice", attachments });
  const mail = await inbox.waitForMessage();
  expect((await mail.attachment("invoice*.pdf")).content.toString()).toBe("invoice (1).pdf");
  expect((await mail.attachment(/png$/)).filename).toBe("logo.png");
  await expect(mail.attachment("*.pdf")).rejects.toThrow(
    /has 2 attachments that match "\*\.pdf".*\n +invoice \(1\)\.pdf \(application\/pdf\)/,
  );
  await expect(mail.attachment("*.zip")).rejects.toThrow(/has no attachments that match/);
});

const IMAGE = { check: "image", severity: "warning", detail: "No alt.", part: "html", line: 2, source: " <img>" };
const NAME = {
  check: "placeholder",
  severity: "error",
  detail: "Not filled.",
  part: "text",
  line: 7,
  source: "{{name}}",
};
const DATE = { check: "headers", severity: "error", detail: "No Date.", part: null, line: null, source: null };

async function messageWith(problems: object[]): Promise<Message> {
  const { url } = await scripted({ status: 200, body: { problems, html: null } });
  return new Message(new Http(url, "key", 1_000), fromWire(MESSAGE) as MessageFields);
}

test.for<[string, object[], CheckOptions, boolean]>([
  ["none", [], {}, true],
  ["a warning", [IMAGE], {}, true],
  ["a warning that fails", [IMAGE], { warnings: true }, false],
  ["an ignored warning", [IMAGE], { warnings: true, ignore: ["image"] }, true],
  ["an error", [NAME], {}, false],
  ["an error that is ignored", [NAME], { ignore: ["placeholder"] }, true],
  ["several", [NAME, DATE, IMAGE], {}, false],
  ["several, one is ignored", [NAME, DATE, IMAGE], { ignore: ["headers"] }, false],
])("toPassChecks: %s", async ([, problems, options, holds]) => {
  const mail = await messageWith(problems);
  const found = await both(
    (matchers) => matchers.toPassChecks(options),
    () => mail,
  );
  expect(found).toEqual([holds, !holds]);
});

test("each problem is listed with its line", async () => {
  await expect((await messageWith([NAME, DATE, IMAGE])).check({ warnings: true })).rejects.toThrow(
    new RegExp(
      [
        "has 3 problems:",
        " +error placeholder: Not filled\\. \\(text, line 7\\)",
        " +{{name}}",
        " +error headers: No Date\\.",
        " +warning image: No alt\\. \\(html, line 2\\)",
        " +<img>",
        "Dashboard: http",
      ].join("\\n"),
    ),
  );
});

test("a real message is checked", async () => {
  const inbox = await inboxWith("Hello {{name}}");
  const mail = await inbox.waitForMessage();
  await expect(mail.check()).rejects.toThrow(/error placeholder: /);
  expect((await mail.checks()).problems.map(({ check }) => check)).toContain("placeholder");
  await mail.check({ ignore: ["placeholder"] });
});

test("a message is forwarded", async () => {
  const other = await restante.createInbox();
  const mail = await (await inboxWith("Look")).waitForMessage();
  expect(await mail.forward(other.address)).toMatchObject({ id: expect.any(String) as string });
  expect((await other.waitForMessage()).subject).toBe("Look");
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
