import { Restante } from "restante";
import { afterAll, beforeAll, expect, test } from "vitest";

import { sendCode } from "./mailer.js";

let restante: Restante;

beforeAll(async () => {
  restante = await Restante.connect();
});

afterAll(() => restante.close());

test("the mail has the code", async () => {
  await using inbox = await restante.createInbox();

  await sendCode(restante.smtp, inbox.address);

  const message = await inbox.waitForMessage({ subject: "sign in" });
  expect(message.code()).toBe("482913");
});
