/** The summary of a CI job on GitHub: a section for each wait that failed, with its explanation. */

import { appendFileSync } from "node:fs";

import type { WaitTimeoutError } from "./errors.js";
import type { Inbox } from "./inbox.js";
import { variable } from "./settings.js";

/** Adds a failed wait to the job's summary, if there is one. Never fails the test. */
export function noteFailedWait(
  inbox: Pick<Inbox, "address" | "label">,
  error: Pick<WaitTimeoutError, "message" | "explanation" | "link">,
  explanation = error.explanation,
): void {
  const file = variable("GITHUB_STEP_SUMMARY");
  if (file === undefined) return;
  const title = singleLine(inbox.label ?? inbox.address);
  const cause = singleLine(explanation?.summary ?? "");
  const link = error.link === undefined ? "" : `[What happened during this wait](<${error.link}>)\n\n`;
  // Four backticks, and no line of the text begins with as many, so that a mail cannot end the block.
  const text = error.message.replace(/`{4,}/g, "```");
  try {
    appendFileSync(file, `### No mail: ${title}\n\n${cause}\n\n${link}\`\`\`\`text\n${text}\n\`\`\`\`\n\n`);
  } catch {
    // The summary is an addition: the error itself is in the report of the test.
  }
}

/** Text from a mail or a test on one line, without the characters that Markdown and HTML give a meaning. */
function singleLine(text: string): string {
  return text.replace(/\s+/g, " ").replace(/[\\`*_[\]<>#|&]/g, (character) => `&#${character.charCodeAt(0)};`);
}
