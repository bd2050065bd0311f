/** Which problems of a message fail a test, and how an error shows them. */

import type { MessageChecks, Problem } from "./types.js";

/** Which problems fail a test. */
export interface CheckOptions {
  /** The names of checks whose problems are ignored. */
  ignore?: readonly Problem["check"][];
  /** Whether warnings fail, too: what a good message may have. */
  warnings?: boolean;
}

/** The problems that fail a test. */
export function failing({ problems }: MessageChecks, { ignore = [], warnings = false }: CheckOptions): Problem[] {
  return problems.filter(({ check, severity }) => !ignore.includes(check) && (warnings || severity === "error"));
}

/** A problem in an error, with its line. */
export function problemText({ check, severity, detail, part, line, source }: Problem): string {
  const place = line === null ? "" : ` (${part ?? "source"}, line ${line})`;
  return `${severity} ${check}: ${detail}${place}${source === null ? "" : `\n    ${source.trim()}`}`;
}
