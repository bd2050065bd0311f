/** Matchers for inboxes and messages. */

import { expect as base, type ExpectMatcherState, type MatcherReturnType } from "@playwright/test";

import type { CheckOptions } from "../checks.js";
import { ContentError, UnexpectedMessageError, WaitTimeoutError } from "../errors.js";
import type { WaitOptions } from "../filters.js";
import type { Inbox } from "../inbox.js";
import type { LinkMatch, Message } from "../message.js";

/** How long `expect(inbox).not.toReceive()` waits in Jest and Vitest, whose `expect` has no timeout. */
const DEFAULT_TIMEOUT = 5_000;

/** The matchers, for `expect.extend` of another `expect`. */
export const matchers = {
  /**
   * A message has a labelled code, or exactly this one. {@link Message.code} fails for several, and this matcher does
   * not.
   */
  toHaveCode(message: Message, code?: string): MatcherReturnType {
    return asked(() => {
      const codes = message.labelledCodes();
      // Fails, with the message's text.
      if (codes.length === 0) message.code();
      const pass = code === undefined || codes.includes(code);
      const actual = codes.join(" and ");
      const text = codes.length === 1 ? `The code is ${actual}` : `The codes are ${actual}`;
      return { pass, message: () => `${text}${pass ? "" : `, not ${code}`}.`, actual, expected: code };
    });
  },

  /** A message has a link, or one that matches. {@link Message.link} fails for several, and this matcher does not. */
  toHaveLink(message: Message, match?: LinkMatch): MatcherReturnType {
    return asked(() => {
      const found = message.matchingLinks(match);
      // Fails, with the message's links.
      if (found.length === 0) message.link(match);
      const links = found.length === 1 ? `the link ${found.join()}` : `${found.length} links: ${found.join(", ")}`;
      return { pass: true, message: () => `The message has ${links}.` };
    });
  },

  /** A message is good: no placeholder that is not filled, no broken link, and more (see {@link Message.check}). */
  async toPassChecks(message: Message, options: CheckOptions = {}): Promise<MatcherReturnType> {
    try {
      await message.check(options);
      return { pass: true, message: () => "The message passes the checks." };
    } catch (error) {
      if (!(error instanceof ContentError)) throw error;
      return { pass: false, message: () => error.message };
    }
  },

  /**
   * An inbox receives a message that matches the filters. With `not`, none arrives within `timeout`, by default the
   * timeout of `expect`.
   */
  async toReceive(this: ExpectMatcherState, inbox: Inbox, options: WaitOptions = {}): Promise<MatcherReturnType> {
    const { timeout, ...filters } = options;
    try {
      if (this.isNot) {
        await inbox.expectNoMessage({ ...filters, within: timeout ?? timeoutOfExpect(this) });
        return { pass: false, message: () => "" };
      }
      const { subject, from } = await inbox.waitForMessage(options);
      return { pass: true, message: () => `The inbox received ${JSON.stringify(subject)} from ${from}.` };
    } catch (error) {
      const isExpected = error instanceof WaitTimeoutError || error instanceof UnexpectedMessageError;
      if (!isExpected) throw error;
      return { pass: this.isNot, message: () => error.message };
    }
  },
};

/** Playwright's `expect` with matchers for inboxes and messages. */
export const expect = base.extend(matchers);

function timeoutOfExpect({ timeout }: { timeout?: number }): number {
  return timeout ?? DEFAULT_TIMEOUT;
}

function asked(check: () => MatcherReturnType): MatcherReturnType {
  try {
    return check();
  } catch (error) {
    if (!(error instanceof ContentError)) throw error;
    return { pass: false, message: () => error.message };
  }
}
