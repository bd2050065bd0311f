/** The timeline of an inbox, as the text in the report of a failed test. */

import type { InboxEvent } from "./types.js";

/** A line for each event, and below it the commands of an SMTP session. */
export function timelineText(events: readonly InboxEvent[]): string {
  return events.flatMap(lines).join("\n");
}

function lines({ at, text, failure, commands }: InboxEvent): string[] {
  const page = failure == null ? [] : [`    ${failure}`];
  const dialog = (commands ?? []).map(({ command, reply }) => `    ${command || "(connected)"} → ${reply || "(none)"}`);
  return [`${at} ${text}`, ...page, ...dialog];
}
