/** The filters of the content: those that the server applies, and those of the client. */

import nodemailer from "nodemailer";
import { afterAll, beforeAll, expect, test } from "vitest";

import { Restante, WaitTimeoutError, type Filters, type Inbox } from "../src/index.js";

let restante: Restante;
let inbox: Inbox;

beforeAll(async () => {
  restante = await Restante.connect();
  inbox = await restante.createInbox();
  const transport = nodemailer.createTransport({ ...restante.smtp, ignoreTLS: true });
  const send = (subject: string, text: string, headers: Record<string, string>, cc?: string) =>
    transport.sendMail({ from: "shop@app.example", to: inbox.address, cc, subject, text, headers });
  await send("Basic", "Your plan: basic", { "X-Campaign": "Spring-7", "X-Order": "41" }, "Bob <bob@app.example>");
  await send("Pro", "Your plan: PRO", { "X-Campaign": "winter", "X-Order": "42" });
});

afterAll(() => restante.close());

test.for<[string, Filters, string[]]>([
  ["text", { text: "plan: pro" }, ["Pro"]],
  ["text, a pattern", { text: /basic$/m }, ["Basic"]],
  ["to, in Cc", { to: "BOB@app" }, ["Basic"]],
  ["to, a pattern", { to: /^Bob\b/ }, ["Basic"]],
  ["to, of both", { to: "@restante" }, ["Pro", "Basic"]],
  ["header", { header: { "x-campaign": "SPRING" } }, ["Basic"]],
  ["header, a pattern", { header: { "X-Campaign": /^w/ } }, ["Pro"]],
  ["header, two fields", { header: { "X-Campaign": "i", "X-Order": "42" } }, ["Pro"]],
  ["header, a text and a pattern", { header: { "X-Order": /^4\d$/, "X-Campaign": "spring" } }, ["Basic"]],
  ["header, any value", { header: { "X-Campaign": "" } }, ["Pro", "Basic"]],
  ["header, a field that none has", { header: { "X-Other": "" } }, []],
  ["several", { text: "plan", to: "bob", header: { "X-Order": "42" } }, []],
])("%s", async ([, filters, subjects]) => {
  expect((await inbox.messages(filters)).map(({ subject }) => subject)).toEqual(subjects);
});

const OWN = "the client's own filter";

test.for<[Filters, string, string, string]>([
  [{ text: "gold" }, 'text "gold"', "text", "text"],
  [{ to: /^eve/ }, "to /^eve/", OWN, "client"],
  [
    { header: { "X-Order": "9", "X-Campaign": /^$/ } },
    'header X-Order "9", header X-Campaign /^$/',
    "header",
    "header",
  ],
  [{ text: /plan/, header: { "X-Campaign": /^$/ } }, "text /plan/, header X-Campaign /^$/", OWN, "client"],
])("a timeout names what excluded the messages: %o", async ([filters, described, words, name]) => {
  const error: unknown = await inbox
    .waitForMessage({ ...filters, after: null, timeout: 100 })
    .catch((one: unknown) => one);
  expect(error).toBeInstanceOf(WaitTimeoutError);
  const { message, explanation } = error as WaitTimeoutError;
  expect(message).toContain(`within 0.1 s with ${described}.`);
  expect(message).toContain(`"Basic" from shop@app.example, not: ${words}`);
  expect(explanation).toMatchObject({ cause: "filter_missed", messages: { latest: [{ missedBy: [name] }, {}] } });
});
