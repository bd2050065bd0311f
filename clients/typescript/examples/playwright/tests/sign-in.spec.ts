import { expect, test } from "restante/playwright";

test("sign in with the code from the mail", async ({ page, inbox }) => {
  await page.goto("/sign-in");
  await page.getByLabel("Email").fill(inbox.address);
  await page.getByRole("button", { name: "Send me a code" }).click();

  const mail = await inbox.waitForMessage({ has: "otp" });
  await page.getByLabel("Code").fill(mail.code());
  await page.getByRole("button", { name: "Sign in" }).click();

  await expect(page.getByText(`Welcome, ${inbox.address}`)).toBeVisible();
});
