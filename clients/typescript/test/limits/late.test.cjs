// Runs in Jest and in Vitest, with their globals: no mail comes, and the wait is longer than the test.
const { Restante } = require("../..");

let restante;

beforeAll(async () => {
  restante = await Restante.connect();
}, 60_000);

afterAll(() => restante.close());

test("no mail comes", async () => {
  const inbox = await restante.createInbox();
  await inbox.waitForMessage({ subject: "confirm" });
}, 30_000);

test("a short wait is not shortened", async () => {
  const inbox = await restante.createInbox();
  await expect(inbox.waitForMessage({ timeout: 100 })).rejects.toThrow(/within 0\.1 s/);
}, 60_000);
