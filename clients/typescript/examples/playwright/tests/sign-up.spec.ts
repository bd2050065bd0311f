import { expect, test } from "restante/playwright";

test("sign up with the link from the mail", async ({ page, inbox }) => {
  await page.goto("/");
  await page.getByLabel("Name").fill("Ada");
  await page.getByLabel("Email").fill(inbox.address);
  await page.getByRole("button", { name: "Sign up" }).click();

  const mail = await inbox.waitForMessage({ subject: /confirm/i });
  await page.goto(mail.link("/confirm"));

  await expect(page.getByText("Welcome, Ada")).toBeVisible();
});
