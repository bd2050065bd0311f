/** Runs Playwright on a folder, as a user does. */

import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";

const CLI = require.resolve("@playwright/test/cli");

/** A test of Playwright's JSON report. */
export interface ReportedTest {
  title: string;
  status: string;
  errors: string;
  attachments: { name: string; contentType: string; path?: string; body?: string }[];
  annotations: { type: string; description?: string }[];
  steps: string[];
}

/** A finished run. */
export interface Report {
  code: number | null;
  output: string;
  tests: ReportedTest[];
}

/** A run that is under way. */
export class Run {
  readonly child: ChildProcess;
  readonly #results: string;
  #output = "";

  constructor(folder: string, flags: string[], env: NodeJS.ProcessEnv = {}) {
    this.#results = mkdtempSync(join(tmpdir(), "restante-test-"));
    const { RESTANTE_URL: _url, RESTANTE_API_KEY: _key, RESTANTE_SMTP: _smtp, ...rest } = process.env;
    const reports = { PLAYWRIGHT_JSON_OUTPUT_FILE: join(this.#results, "report.json") };
    this.child = spawn(process.execPath, [CLI, "test", "--reporter=json", "--output", this.#results, ...flags], {
      cwd: folder,
      env: { ...rest, ...reports, ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    for (const stream of [this.child.stdout, this.child.stderr]) {
      stream?.on("data", (data: Buffer) => (this.#output += data.toString()));
    }
  }

  /** What the run has left when it has ended. */
  async ended(): Promise<{ code: number | null; output: string }> {
    if (this.child.exitCode === null && this.child.signalCode === null) await once(this.child, "close");
    return { code: this.child.exitCode, output: this.#output };
  }

  /** The report of a run that ends on its own. */
  async report(): Promise<Report> {
    const { code, output } = await this.ended();
    const json = JSON.parse(readFileSync(join(this.#results, "report.json"), "utf8")) as JsonSuite;
    return { code, output, tests: [...testsOf(json)] };
  }
}

interface JsonSuite {
  suites?: JsonSuite[];
  specs?: {
    title: string;
    tests: {
      annotations: ReportedTest["annotations"];
      results: {
        status: string;
        errors: { message: string }[];
        attachments: ReportedTest["attachments"];
        steps?: { title: string }[];
      }[];
    }[];
  }[];
}

function* testsOf({ suites = [], specs = [] }: JsonSuite): Generator<ReportedTest> {
  for (const suite of suites) yield* testsOf(suite);
  for (const { title, tests } of specs) {
    for (const { annotations, results } of tests) {
      for (const { status, errors, attachments, steps = [] } of results) {
        const text = errors.map(({ message }) => stripVTControlCharacters(message)).join("\n");
        yield { title, status, errors: text, attachments, annotations, steps: steps.map((step) => step.title) };
      }
    }
  }
}
