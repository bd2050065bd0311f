import { expect, test } from "restante/playwright";

test("a visitor signs up with an address that zod accepts", async ({ page, inbox }) => {
  await page.goto("/sign-up");
  await page.getByLabel("Email").fill(inbox.address);
  await page.getByRole("button", { name: "Send" }).click();

  await page.goto((await inbox.waitForMessage({ subject: "confirm" })).link("/confirm"));

  await expect(page.getByText(`Welcome, ${inbox.address}`)).toBeVisible();
});

test("a seeded user signs in with an address that Joi accepts", async ({ page, inboxFor }) => {
  const ada = await inboxFor("ada@example.com");
  await page.goto("/sign-in");
  await page.getByLabel("Email").fill(ada.address);
  await page.getByRole("button", { name: "Send" }).click();

  await page.goto((await ada.waitForMessage({ subject: "sign in" })).link("/confirm"));

  await expect(page.getByText("Welcome, ada@example.com")).toBeVisible();
});

test("what is no address is refused by both", async ({ page }) => {
  for (const path of ["/sign-up", "/sign-in"]) {
    await page.goto(path);
    await page.getByLabel("Email").fill("nobody");
    await page.getByRole("button", { name: "Send" }).click();
    await expect(page.getByText("This is no address")).toBeVisible();
  }
});
