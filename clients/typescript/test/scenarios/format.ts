/** The format of clients/scenarios.json; clients/README.md describes it. */

/** What is compared with a result. */
export type Expected = unknown;

/** A scenario. */
export interface Scenario {
  name: string;
  flags?: string[];
  steps: Step[];
}

/** A step: `do` says what is done, the other fields with what. */
export interface Step {
  do: string;
  as?: string;
  client?: string;
  expect?: Expected;
  error?: ExpectedError;
  steps?: Step[];
  [field: string]: unknown;
}

/** The error that a step must fail with. */
export interface ExpectedError {
  type: string;
  message?: string[];
  no?: string[];
  fields?: Expected;
}

/** A text, or a regular expression. */
export type Pattern = string | { $regex: string; flags?: string };

/** The names of a field on the wire and in JavaScript. */
export function camelCase(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
