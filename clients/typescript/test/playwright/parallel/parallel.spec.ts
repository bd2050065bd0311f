import { expect, test } from "restante/playwright";

for (let number = 1; number <= Number(process.env.TESTS ?? "40"); number += 1) {
  test(`sign-up ${number}`, async ({ page, inbox }) => {
    await page.goto("/");
    await page.getByLabel("Name").fill(`Number ${number}`);
    await page.getByLabel("Email").fill(inbox.address);
    // The wait is open before the message arrives, so that it competes for a place.
    const waiting = inbox
      .waitForMessage({ subject: "confirm" })
      .then((message) => ({ message, late: Date.now() - message.receivedAt.getTime() }));
    await page.getByRole("button", { name: "Sign up" }).click();
    const { message, late } = await waiting;
    test.info().annotations.push({ type: "late", description: String(late) });
    await page.goto(message.link("/confirm"));
    await expect(page.getByText(`Welcome, Number ${number}`)).toBeVisible();
  });
}
