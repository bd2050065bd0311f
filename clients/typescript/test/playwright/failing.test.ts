/** What the report of a failed test has. */

import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { beforeAll, expect, test } from "vitest";

import { NotFoundError, Restante, startServer } from "../../src/index.js";
import { Run, type ReportedTest } from "./run.js";

let tests: ReportedTest[];
let restante: Restante;
let summary: string;

beforeAll(async () => {
  const server = await startServer();
  restante = await Restante.connect(server);
  const smtp = `${server.smtp.host}:${server.smtp.port}`;
  const file = join(mkdtempSync(join(tmpdir(), "restante-test-")), "summary.md");
  const address = { RESTANTE_URL: server.url, RESTANTE_API_KEY: server.apiKey, RESTANTE_SMTP: smtp };
  const env = { ...address, GITHUB_STEP_SUMMARY: file };
  ({ tests } = await new Run(join(__dirname, "failing"), [], env).report());
  summary = readFileSync(file, "utf8");
  return () => server.stop();
});

function find(title: string, status = "failed"): ReportedTest {
  const found = tests.find((reported) => reported.title === title);
  if (found === undefined) throw new Error(`no test ${title} in ${JSON.stringify(tests)}`);
  expect(found.status).toBe(status);
  return found;
}

function contentOf({ attachments }: ReportedTest, name: string): string {
  const attachment = attachments.find((candidate) => candidate.name === name);
  if (attachment?.path !== undefined) return readFileSync(attachment.path, "latin1");
  return Buffer.from(attachment?.body ?? `no ${name}`, "base64").toString("latin1");
}

test("a mail with another subject is in the error and in the report", () => {
  const failed = find("the mail has another subject");
  expect(failed.errors).toContain('with subject "confirm"');
  expect(failed.errors).toContain('"Welcome to the shop" from shop@app.example');
  const mail = "mail 1: Welcome to the shop";
  expect(contentOf(failed, mail)).toMatch(/^\x89PNG/);
  expect(contentOf(failed, `${mail} (page)`)).toContain("default-src 'none'");
  expect(contentOf(failed, `${mail} (page)`)).toContain("Welcome!</h1>");
  expect(contentOf(failed, `${mail} (as received)`)).toContain("Subject: Welcome to the shop\r\n");
  const read = JSON.parse(contentOf(failed, `${mail} (codes and links)`)) as unknown;
  expect(read).toMatchObject({ codes: ["482913"], links: ["https://app.example/start"] });
  const why = JSON.parse(contentOf(failed, "why no message arrived")) as unknown;
  expect(why).toMatchObject({ messages: { count: 1, latest: [{ missedBy: ["subject"] }] } });
});

test("the report names the filter that the server does not know", () => {
  const cause = /^Expected subject \/.*\/; arrived: "Welcome" from a@app\.example\. Change the filter, or what/m;
  const failed = find("a pattern does not match");
  expect(failed.errors).toMatch(cause);
  expect(failed.annotations).toContainEqual({
    type: "why no message arrived",
    description: expect.stringMatching(cause) as string,
  });
  expect(contentOf(failed, "why no message arrived")).toContain('"missedBy": [\n          "client"');
});

test("the report says that the mail arrived after the wait", () => {
  const cause = /^A message arrived .* after the wait had ended: "Late" from a@app\.example\. Use a timeout of \d+ s/;
  const failed = find("the mail arrives after the wait");
  expect(failed.annotations).toContainEqual({
    type: "why no message arrived",
    description: expect.stringMatching(cause) as string,
  });
  expect(summary).toMatch(new RegExp(`the mail arrives after the wait\n\n${cause.source.slice(1)}`));
});

test("without mail, the error has the server's explanation", () => {
  const failed = find("nothing came");
  expect(failed.errors).toMatch(
    /No message for .* within 0\.5 s\.\n(Nothing has connected over SMTP|Clients use SMTP)/,
  );
  expect(contentOf(failed, "why no message arrived")).toContain('"summary"');
  const page = /http:\/\/restante\.localhost:\d+\/failures\/[\w-]+/;
  expect(failed.errors).toMatch(page);
  // Reporters write them: JUnit's as properties.
  expect(failed.annotations.map(({ type }) => type)).toEqual([
    "what happened during the wait",
    "why no message arrived",
    "mail in the dashboard",
  ]);
  expect(failed.annotations[0]?.description).toMatch(page);
  expect(contentOf(failed, "why no message arrived")).toMatch(page);
});

test("the timeline of each inbox is attached, with the commands of SMTP", () => {
  const failed = find("the mail has another subject");
  const { name = "" } = failed.attachments.find((candidate) => candidate.name.startsWith("timeline of ")) ?? {};
  const timeline = contentOf(failed, name);
  const address = name.replace("timeline of ", "");
  expect(timeline).toMatch(/^20\S+Z .*created/);
  expect(timeline).toContain("\n    MAIL FROM:<shop@app.example>");
  expect(timeline).toContain(`\n    RCPT TO:<${address}>`);
  expect(timeline).toMatch(/\n {4}http:\/\/restante\.localhost:\d+\/failures\//);
  // Also without mail.
  expect(find("nothing came").attachments.some((one) => one.name.startsWith("timeline of "))).toBe(true);
});

test("the mail of an address with a slash is attached", () => {
  const failed = find("the address has a slash");
  expect(contentOf(failed, "timeline of qa/ada@restante.example.com")).toContain("RCPT TO:<qa/ada@");
  expect(contentOf(failed, "mail 1: Hello (as received)")).toContain("Subject: Hello");
});

test("the newest ten messages of an inbox are attached", () => {
  const { attachments } = find("there are many messages");
  const subjects = attachments.map(({ name }) => /^mail \d+: (.*) \(page\)$/.exec(name)?.[1]).filter(Boolean);
  expect(subjects).toEqual(Array.from({ length: 10 }, (_, index) => `Number ${index + 3}`));
});

test("the job's summary has the failed waits of failed tests, and no others", () => {
  find("a timeout that the test expects", "passed");
  expect(summary).toMatch(/### No mail: [^\n]*the mail has another subject\n/);
  expect(summary).toMatch(/### No mail: [^\n]*a failure that attaches nothing\n/);
  expect(summary.match(/nothing came\n/g)).toHaveLength(1);
  expect(summary).not.toContain("expects");
});

test("a wait ends before the timeout of its test", () => {
  expect(find("the wait is longer than the test").errors).toContain("not 30 s: limited by the timeout of the test");
  find("a tenth of a long test is left for its report", "passed");
});

test("the mail is attached when something else fails", () => {
  const failed = find("an expectation fails after the message arrived");
  expect(failed.errors).toContain("has no code");
  expect(contentOf(failed, "mail 1: Hello")).toMatch(/^\x89PNG/);
});

test("mail that was not expected is named", () => {
  expect(find("a message arrived unexpectedly").errors).toContain('this arrived: "Surprise" from a@app.example');
});

test("what Playwright records of a test is only the test", () => {
  const { attachments } = find("the mail has another subject");
  expect(attachments.filter(({ name }) => name === "screenshot")).toEqual([]);
});

test("a wait is a step of the trace", () => {
  const step: unknown = expect.stringMatching(/^wait for mail to .*@restante\.example\.com$/);
  expect(find("nothing came").steps).toContainEqual(step);
});

test("restanteAttach says when mail is attached", () => {
  expect(find("a failure that attaches nothing").attachments.map(({ name }) => name)).not.toContain("mail 1: Hello");
  expect(contentOf(find("a success that attaches its mail", "passed"), "mail 1: Hello")).toMatch(/^\x89PNG/);
});

test("the inbox of a failed test stays, that of another is deleted", async () => {
  const { inbox } = JSON.parse(contentOf(find("nothing came"), "why no message arrived")) as {
    inbox: { address: string };
  };
  expect((await restante.inbox(inbox.address)).address).toBe(inbox.address);
  const [noted] = find("a success that attaches its mail", "passed").annotations;
  await expect(restante.inbox(noted?.description ?? "")).rejects.toBeInstanceOf(NotFoundError);
});

test("the inboxes of a serial test's first step are there in the second", () => {
  find("the first step gets mail", "passed");
  find("the second step reads the mail of the first", "passed");
});
