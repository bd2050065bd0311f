/** Matchers for inboxes and messages. */

import { expect as base, type ExpectMatcherState, type MatcherReturnType } from "@playwright/test";

import { ContentError, UnexpectedMessageError, WaitTimeoutError } from "../errors.js";
import type { WaitOptions } from "../filters.js";
import type { Inbox } from "../inbox.js";
import type { LinkMatch, Message } from "../message.js";

/** The matchers, for `expect.extend` of another `expect`. */
export const matchers = {
  /** A message has a one-time code, and exactly this one if it is given. */
  toHaveCode(message: Message, code?: string): MatcherReturnType {
    return asked(() => {
      const actual = message.code();
      const pass = code === undefined || actual === code;
      return {
        pass,
        message: () => `The code is ${actual}${pass ? "" : `, not ${code}`}.`,
        actual,
        expected: code,
      };
    });
  },

  /** A message has exactly one link, or exactly one that matches. */
  toHaveLink(message: Message, match?: LinkMatch): MatcherReturnType {
    return asked(() => {
      const link = message.link(match);
      return { pass: true, message: () => `The message has the link ${link}.` };
    });
  },

  /**
   * An inbox receives a message that matches the filters. With `not`, none arrives within `timeout`, by default the
   * timeout of `expect`.
   */
  async toReceive(this: ExpectMatcherState, inbox: Inbox, options: WaitOptions = {}): Promise<MatcherReturnType> {
    const { timeout, ...filters } = options;
    try {
      if (this.isNot) {
        await inbox.expectNoMessage({ ...filters, within: timeout ?? this.timeout });
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

function asked(check: () => MatcherReturnType): MatcherReturnType {
  try {
    return check();
  } catch (error) {
    if (!(error instanceof ContentError)) throw error;
    return { pass: false, message: () => error.message };
  }
}
