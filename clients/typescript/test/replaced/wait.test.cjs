// Runs in Jest and in Vitest, with their globals. REPLACED names what is replaced: fake timers, or HTTP. "early" is
// before the client is loaded; what an environment or a setting of the runner replaces, it has replaced before.
const fake = typeof jest === "object" ? jest : vi;
const replaced = process.env.REPLACED.split(" ");

function replace() {
  if (replaced.includes("timers")) fake.useFakeTimers({ now: 0 });
  if (replaced.includes("legacy-timers")) fake.useFakeTimers({ legacyFakeTimers: true });
  if (replaced.includes("fetch")) globalThis.fetch = () => Promise.reject(new Error("the fetch of the test"));
  if (replaced.includes("nock")) require("nock").disableNetConnect();
  if (replaced.includes("msw")) {
    const { http, HttpResponse } = require("msw");
    const { setupServer } = require("msw/node");
    setupServer(http.all("*", () => HttpResponse.json({ mocked: true }))).listen();
  }
}

if (replaced.includes("early")) replace();
const { Restante, totp } = require("../..");
if (!replaced.includes("early")) replace();

test("a wait without mail ends, and one with mail has it", async () => {
  const restante = await Restante.connect({ timeout: 1_000 });
  const inbox = await restante.createInbox();
  await expect(inbox.waitForMessage({ subject: "no mail" })).rejects.toThrow("within 1 s");
  expect(await inbox.waitForMessage({ subject: "Confirm" })).toMatchObject({ subject: "Confirm" });
  await restante.close();
}, 60_000);

test("a code of an authenticator is that of the real time", async () => {
  expect(await totp(process.env.AUTHENTICATOR)).toBe(process.env.CODE);
}, 60_000);
