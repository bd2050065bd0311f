import { expect, test } from "restante/playwright";

test("the mail as its reader sees it", async ({ page, inbox }) => {
  await page.request.post("/sign-up", { form: { email: inbox.address, name: "Ada" } });

  const mail = await inbox.waitForMessage();
  await mail.openIn(page);
  await expect(page.getByRole("heading")).toHaveText("Hello Ada!");
  await page.getByRole("link", { name: "Confirm your account" }).click();

  await expect(page.getByText("Welcome, Ada")).toBeVisible();
});

test("a second mail, after the first", async ({ page, inbox }) => {
  await page.goto("/");
  await page.getByLabel("Name").fill("Ada");
  await page.getByLabel("Email").fill(inbox.address);
  await page.getByRole("button", { name: "Sign up" }).click();
  const first = await inbox.waitForMessage();

  await page.getByRole("button", { name: "Send it again" }).click();
  const second = await inbox.waitForMessage();

  expect(second).toHaveLink("/confirm");
  expect(second.link("/confirm")).not.toBe(first.link("/confirm"));
});

test("two people, two inboxes", async ({ request, newInbox }) => {
  const [ada, bob] = [await newInbox(), await newInbox()];
  await request.post("/sign-up", { form: { email: ada.address, name: "Ada" } });
  await request.post("/sign-up", { form: { email: bob.address, name: "Bob" } });

  expect((await bob.waitForMessage()).text).toContain("Hello Bob!");
  expect((await ada.waitForMessage()).text).toContain("Hello Ada!");
});

test("no mail without an order", async ({ request, inbox }) => {
  await request.get("/order");

  await inbox.expectNoMessage({ within: 500 });
});

test("the receipt is attached", async ({ request, inbox }) => {
  await request.post("/order", { form: { email: inbox.address } });

  const [receipt] = await (await inbox.waitForMessage({ subject: "receipt" })).attachments();

  expect(receipt?.filename).toBe("receipt.txt");
  expect(receipt?.content.toString()).toContain("12 euros");
});

test("a reply", async ({ newInbox }) => {
  const [support, user] = [await newInbox(), await newInbox()];
  await user.send({ to: support.address, subject: "Help", text: "It is broken." });

  const question = await support.waitForMessage();
  await question.reply({ text: "Turn it off and on." });

  await expect(user).toReceive({ subject: "Re: Help", from: support.address });
});

test("the application tries again when the mail server is busy", async ({ request, inbox }) => {
  await inbox.setFaults([{ at: "rcpt", do: "defer", times: 2 }]);
  await request.post("/code", { form: { email: inbox.address } });

  expect(await inbox.waitForMessage()).toHaveCode();
  expect((await inbox.faults())[0]?.used).toBe(2);
});
