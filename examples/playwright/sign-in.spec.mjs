import { expect, test } from "@playwright/test";

const inboxes = `${process.env.RESTANTE_URL ?? "http://127.0.0.1:8025"}/v1/inboxes`;
const headers = { Authorization: `Bearer ${process.env.RESTANTE_API_KEY}` };

async function call(path, method = "GET") {
  const answer = await fetch(inboxes + path, { method, headers });
  const body = await answer.json();
  if (!answer.ok) throw new Error(`${answer.status}: ${body.error}`);
  return body;
}

test("a visitor signs in with the code from the mail", async ({ page }) => {
  const inbox = await call("", "POST");

  await page.goto("/");
  await page.getByLabel("E-mail").fill(inbox.address);
  await page.getByRole("button", { name: "Send me a code" }).click();

  const message = await call(`/${inbox.id}/messages/wait?timeout=20000`);
  await page.getByLabel("Code").fill(message.otp);
  await page.getByRole("button", { name: "Sign in" }).click();

  await expect(page.getByText(`Welcome, ${inbox.address}`)).toBeVisible();
});
