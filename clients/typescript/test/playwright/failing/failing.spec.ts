import nodemailer from "nodemailer";
import { expect, test } from "restante/playwright";

test("the mail has another subject", async ({ restante, inbox }) => {
  const transport = nodemailer.createTransport({ ...restante.smtp, ignoreTLS: true });
  await transport.sendMail({
    from: "Example shop <shop@app.example>",
    to: inbox.address,
    subject: "Welcome to the shop",
    text: "Your code is 482913. https://app.example/start",
    html: '<h1 style="color:#246">Welcome!</h1><p>Your code is <b>482913</b>. <a href="https://app.example/start">Start</a></p>',
  });

  await inbox.waitForMessage({ subject: "confirm", timeout: 1_000 });
});

test("nothing came", async ({ inbox }) => {
  await inbox.waitForMessage({ timeout: 500 });
});

test("the wait is longer than the test", async ({ inbox }) => {
  test.setTimeout(4_000);

  await inbox.waitForMessage();
});

test("an expectation fails after the mail came", async ({ restante, inbox }) => {
  const transport = nodemailer.createTransport({ ...restante.smtp, ignoreTLS: true });
  await transport.sendMail({ from: "a@app.example", to: inbox.address, subject: "Hello", text: "No code here" });

  const message = await inbox.waitForMessage();

  expect(message).toHaveCode();
});

test("mail came where none was expected", async ({ restante, inbox }) => {
  const transport = nodemailer.createTransport({ ...restante.smtp, ignoreTLS: true });
  await transport.sendMail({ from: "a@app.example", to: inbox.address, subject: "Surprise", text: "!" });

  await expect(inbox).not.toReceive({ timeout: 1_000 });
});
