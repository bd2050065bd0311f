import { appendFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

import nodemailer from "nodemailer";
import type { SmtpAddress } from "restante";
import { expect, test } from "restante/playwright";

const { PASSED = "/dev/null" } = process.env;

for (let number = 0; number < 40; number += 1) {
  test(`sign-up ${number}`, async ({ restante, newInbox }) => {
    const began = Date.now();
    for (let round = 0; round < 3; round += 1) {
      const code = String(100_000 + number * 10 + round);
      const inbox = await newInbox();
      const sent = send(restante.smtp, inbox.address, code);
      expect((await inbox.waitForMessage({ subject: "confirm" })).code()).toBe(code);
      await sent;
    }
    appendFileSync(PASSED, `${number} ${began} ${Date.now()}\n`);
  });
}

/** The application. As a mail server does, it repeats what was not accepted for now. */
async function send(smtp: SmtpAddress, to: string, code: string): Promise<void> {
  const transport = nodemailer.createTransport({ ...smtp, ignoreTLS: true });
  const mail = { from: "shop@app.example", to, subject: "Confirm your account", text: `Your code is ${code}.` };
  for (;;) {
    try {
      await transport.sendMail(mail);
      return;
    } catch (error) {
      if (Number((error as { responseCode?: number }).responseCode) >= 500) throw error;
    }
    await sleep(200);
  }
}
