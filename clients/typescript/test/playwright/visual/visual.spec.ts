/// <reference lib="dom" />

import nodemailer from "nodemailer";
import { expect, test } from "restante/playwright";

test("the mail looks as before", async ({ page, inbox, restante }) => {
  const { CODE = "", TITLE = "" } = process.env;
  await nodemailer.createTransport({ ...restante.smtp, ignoreTLS: true }).sendMail({
    from: "shop@app.example",
    to: inbox.address,
    subject: "Your code",
    html: `<h1 style="color:#246">${TITLE}</h1><p>Your code is <b>${CODE}</b>.</p>`,
  });

  const mail = await inbox.waitForMessage();
  await mail.openIn(page);
  await page.getByText(mail.code()).evaluate((code) => (code.textContent = "000000"));
  await expect(page).toHaveScreenshot("code.png", { fullPage: true });
});
