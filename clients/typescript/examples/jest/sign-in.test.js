const nodemailer = require("nodemailer");
const { Restante } = require("restante");

let restante;
let inbox;

beforeAll(async () => {
  restante = await Restante.connect();
});

afterAll(() => restante.close());

beforeEach(async () => {
  inbox = await restante.createInbox();
});

afterEach(() => inbox.delete());

test("the mail has the code", async () => {
  // Stands for the application under test.
  const transport = nodemailer.createTransport({ ...restante.smtp, ignoreTLS: true });
  await transport.sendMail({ from: "app@example.com", to: inbox.address, subject: "Sign in", text: "Code: 482913" });

  const message = await inbox.waitForMessage({ subject: "sign in" });

  expect(message.code()).toBe("482913");
});
