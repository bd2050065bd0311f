/** Runs the steps of a scenario against a server. */

import { setMaxListeners } from "node:events";
import { appendFileSync } from "node:fs";
import { inspect } from "node:util";

import * as restante from "../../src/index.js";
import type { Content, Fault, Filters, Inbox, Message, Problem } from "../../src/index.js";
import { camelCase, type ExpectedError, type Pattern, type Step } from "./format.js";
import { sendMail, sendOverTls, type Mail } from "./mail.js";
import { difference } from "./match.js";
import type { TestServer } from "./server.js";

type Names = Record<string, unknown>;

setMaxListeners(100);

/** Runs steps one after another. A failure says which step it is. */
export async function runSteps(server: TestServer, steps: Step[], names: Names = {}): Promise<void> {
  names.client ??= await connect(server, { timeout: 30 });
  for (const [index, step] of steps.entries()) {
    try {
      await runStep(server, step, names);
    } catch (error) {
      const where = `step ${index + 1}, ${JSON.stringify(step).slice(0, 200)}`;
      throw new Error(`${where}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
    }
  }
}

async function runStep(server: TestServer, raw: Step, names: Names): Promise<void> {
  const step = raw.steps ? raw : (filledIn(raw, names) as Step);
  const run = new StepRun(server, step, names);
  let result: unknown;
  try {
    result = await run.run();
  } catch (error) {
    if (step.error === undefined) throw error;
    noteText(names.scenario, raw, error);
    checkError(error, step.error);
    return;
  }
  if (step.error !== undefined) throw new Error(`it did not fail, but returned ${inspect(result)}`);
  if (step.as !== undefined) names[step.as] = result;
  const wrong = "expect" in step ? difference(result, step.expect) : undefined;
  if (wrong !== undefined) throw new Error(wrong);
}

/** Notes an error text for a reader; clients/error-texts collects them. */
function noteText(scenario: unknown, step: Step, error: unknown): void {
  const file = process.env.ERROR_TEXTS ?? "";
  if (file === "" || !(error instanceof Error)) return;
  appendFileSync(file, `${JSON.stringify({ scenario, step, text: `${error.name}: ${error.message}` })}\n`);
}

function checkError(error: unknown, expected: ExpectedError): void {
  const type = restante[expected.type as "RestanteError"];
  if (!(error instanceof type)) throw new Error(`it failed with ${inspect(error)}, not ${expected.type}`);
  for (const part of expected.message ?? []) {
    if (!error.message.includes(part)) throw new Error(`${JSON.stringify(part)} is missing in: ${error.message}`);
  }
  for (const part of expected.no ?? []) {
    if (inspect(error, { depth: 9 }).includes(part)) throw new Error(`the error shows ${part}: ${inspect(error)}`);
  }
  const wrong = "fields" in expected ? difference(error, expected.fields, "the error") : undefined;
  if (wrong !== undefined) throw new Error(wrong);
}

/** Every `${name.field}` in the strings replaced. */
function filledIn(value: unknown, names: Names): unknown {
  if (typeof value === "string") {
    return value.replace(/\$\{([^.}]+)(?:\.([^}]+))?\}/g, (_, name: string, field?: string) => {
      const named = names[name];
      return String(field === undefined ? named : fieldOf(named, field));
    });
  }
  if (Array.isArray(value)) return value.map((element) => filledIn(element, names));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, field]) => [key, filledIn(field, names)]));
}

function fieldOf(named: unknown, field: string): unknown {
  const fields = named as Record<string, string>;
  if (field !== "mistyped") return fields[camelCase(field)];
  const address = fields.address ?? "";
  return (address.startsWith("0") ? "1" : "0") + address.slice(1);
}

async function connect(server: TestServer, { url, api_key, timeout }: Names): Promise<restante.Restante> {
  const { address } = server;
  return restante.Restante.connect({
    url: (url as string | undefined) ?? address.url,
    apiKey: (api_key as string | undefined) ?? address.apiKey,
    smtp: address.smtp,
    mailDomain: address.mailDomain,
    timeout: timeout === undefined ? undefined : Number(timeout) * 1000,
  });
}

/** One step: each `do` is a method. */
class StepRun {
  readonly #server: TestServer;
  readonly #step: Step;
  readonly #names: Names;

  constructor(server: TestServer, step: Step, names: Names) {
    this.#server = server;
    this.#step = step;
    this.#names = names;
  }

  async run(): Promise<unknown> {
    const action = ACTIONS[this.#step.do];
    if (action === undefined) throw new Error(`unknown step: ${this.#step.do}`);
    return await action(this);
  }

  get server(): TestServer {
    return this.#server;
  }

  get step(): Step {
    return this.#step;
  }

  get names(): Names {
    return this.#names;
  }

  get client(): restante.Restante {
    return this.#names[this.#step.client ?? "client"] as restante.Restante;
  }

  get inbox(): Inbox {
    return this.#names[this.#step.inbox as string] as Inbox;
  }

  get message(): Message {
    return this.#names[this.#step.message as string] as Message;
  }

  /** The filters and times of the step. */
  get options(): Filters & { timeout?: number; within: number } {
    const { subject, from, to, text, header, has, after, where, timeout, within } = this.#step;
    const fields = Object.entries((header ?? {}) as Record<string, Pattern>);
    const patterns = Object.fromEntries(fields.map(([name, value]) => [name, pattern(value)]));
    return {
      ...(subject === undefined ? {} : { subject: pattern(subject as Pattern) }),
      ...(from === undefined ? {} : { from: pattern(from as Pattern) }),
      ...(to === undefined ? {} : { to: pattern(to as Pattern) }),
      ...(text === undefined ? {} : { text: pattern(text as Pattern) }),
      ...(header === undefined ? {} : { header: patterns }),
      ...(has === undefined ? {} : { has: has as Content[] }),
      ...(after === undefined ? {} : { after: after as string | null }),
      ...(where === undefined ? {} : { where: (message: Message) => difference(message, where) === undefined }),
      ...(timeout === undefined ? {} : { timeout: Number(timeout) * 1000 }),
      within: Number(within) * 1000,
    };
  }
}

function pattern(given: Pattern): string | RegExp {
  return typeof given === "string" ? given : new RegExp(given.$regex, given.flags);
}

/** The bodies of a message to send. */
function bodies(step: Step): { text?: string; html?: string } {
  const given = ["text", "html"].filter((name) => step[name] !== undefined);
  return Object.fromEntries(given.map((name) => [name, step[name]]));
}

const ACTIONS: Record<string, (run: StepRun) => unknown> = {
  client: (run) => connect(run.server, run.step),
  health: (run) => run.client.health(),
  create: (run) => run.client.createInbox({ label: run.step.label as string | undefined }),
  find: (run) => run.client.inbox(run.step.inbox as string),
  inbox_for: (run) => run.client.inboxFor(run.step.address as string, { label: run.step.label as string | undefined }),
  mail: (run) => {
    const { do: _do, ...mail } = run.step;
    return sendMail(run.server.address.smtp, mail as unknown as Mail);
  },
  mail_over_tls: (run) => sendOverTls(run.server.address.smtp, run.step.to as string),
  wait: (run) => run.inbox.waitForMessage(run.options),
  wait_messages: (run) => run.inbox.waitForMessages(run.step.count as number, run.options),
  expect_no_message: (run) => run.inbox.expectNoMessage(run.options),
  messages: (run) => run.inbox.messages(run.options),
  message: (run) => run.client.message(run.step.id as string),
  code: (run) => {
    const { matching } = run.step;
    return run.message.code(matching === undefined ? {} : { matching: pattern(matching as Pattern) });
  },
  link: (run) => {
    const { match, text } = run.step;
    if (text !== undefined) return run.message.link({ text: text as string });
    return run.message.link(match === undefined ? undefined : pattern(match as Pattern));
  },
  details: (run) => run.message.details(),
  attachments: (run) => run.message.attachments(),
  attachment: (run) => {
    const { name } = run.step;
    return run.message.attachment(name === undefined ? undefined : pattern(name as Pattern));
  },
  checks: (run) => run.message.checks(),
  assert_checks: (run) => {
    const { ignore } = run.step;
    return run.message.check(ignore === undefined ? {} : { ignore: ignore as Problem["check"][] });
  },
  raw: (run) => run.message.raw(),
  forward: (run) => run.message.forward(run.step.to as string),
  totp: (run) => run.client.totp(run.step.secret as string),
  send: (run) => {
    const { to, subject, in_reply_to: inReplyTo } = run.step as unknown as Record<string, string>;
    return run.inbox.send({
      to: to ?? "",
      subject: subject ?? "",
      ...bodies(run.step),
      ...(inReplyTo && { inReplyTo }),
    });
  },
  reply: (run) => run.message.reply(bodies(run.step)),
  explain: (run) => run.inbox.explain(run.options),
  set_faults: (run) => run.inbox.setFaults(run.step.faults as Fault[]),
  faults: (run) => run.inbox.faults(),
  delete: (run) => (run.step.inbox === undefined ? run.message : run.inbox).delete(),
  start: ({ server, step, names }) => {
    const running = runSteps(server, step.steps ?? [], names);
    // A failure is reported by `join`.
    running.catch(() => undefined);
    return { running };
  },
  join: ({ step, names }) => (names[step.name as string] as { running: Promise<void> }).running,
  parallel: async ({ server, step, names }) => {
    const runs = Array.from({ length: step.times as number }, (_, index) =>
      runSteps(server, step.steps ?? [], { ...names, index }),
    );
    await Promise.all(runs);
  },
  until_waits_are_open: (run) => run.server.untilWaitsAreOpen(),
  restart: (run) => run.server.restart(run.step.kill === true),
  check: (run) => run.step.value,
};
