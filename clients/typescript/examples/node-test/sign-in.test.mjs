import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import nodemailer from "nodemailer";
import { Restante } from "restante";

let restante;

before(async () => {
  restante = await Restante.connect();
});

after(() => restante.close());

test("the mail has the code", async () => {
  const inbox = await restante.createInbox();

  // Stands for the application under test.
  const transport = nodemailer.createTransport({ ...restante.smtp, ignoreTLS: true });
  await transport.sendMail({ from: "app@example.com", to: inbox.address, subject: "Sign in", text: "Code: 482913" });

  const message = await inbox.waitForMessage({ subject: "sign in" });
  assert.equal(message.code(), "482913");
  await inbox.delete();
});
