/**
 * The waits that are open. A runner can end a test without telling the wait, for example in a hook or if tests run at
 * the same time. Then the state of the wait so far is printed, because no error shows it.
 */

import { within } from "./runtime.js";

/** How long the states of all open waits may take together. */
const MAX_STATE_MS = 700;

/** A wait that has not ended. */
export interface OpenWait {
  /** The error that the wait would end with now. */
  state: () => Promise<string>;
}

const waits = new Map<object, Set<OpenWait>>();

/** Runs a wait of `owner`, a client, and knows it until it ends. */
export async function whileOpen<T>(owner: object, open: OpenWait, wait: () => Promise<T>): Promise<T> {
  const all = waits.get(owner) ?? new Set();
  waits.set(owner, all.add(open));
  try {
    return await wait();
  } finally {
    all.delete(open);
  }
}

/** Prints the state of each open wait, of one client or of all, to standard error, and forgets these waits. */
export async function printOpen(reason: string, owner?: object): Promise<void> {
  const chosen = owner === undefined ? [...waits.values()] : [waits.get(owner) ?? new Set<OpenWait>()];
  const open = chosen.flatMap((all) => [...all]);
  chosen.forEach((all) => all.clear());
  if (open.length === 0) return;
  const none = () => undefined;
  const states = open.map(({ state }) => within(MAX_STATE_MS, state().catch(none), none));
  for (const text of await Promise.all(states)) {
    if (text !== undefined) process.stderr.write(`restante: ${reason}, and a wait was still open:\n${text}\n`);
  }
}
