// mailpit-api, a test helper for Mailpit, against a running server: MAILPIT_URL, RESTANTE_API_KEY. HELPERS is the
// directory with node_modules.
import assert from "node:assert/strict";
import { createRequire } from "node:module";

const require = createRequire(`${process.env.HELPERS}/`);
const { MailpitClient } = require("mailpit-api");

const url = process.env.MAILPIT_URL;
const open = new MailpitClient(url);
const mailpit = new MailpitClient(url, { auth: { username: "any", password: process.env.RESTANTE_API_KEY } });
await assert.rejects(
  new MailpitClient(url, { auth: { username: "a", password: "rst_live_x" } }).listMessages(),
  /401/,
);

const message = (name, more = {}) => ({
  From: { Email: "shop@app.example", Name: "Zoë" },
  To: [{ Email: `${name}@app.example`, Name: "Ada" }],
  Subject: `Sign in, ${name}`,
  Text: "Your code is 482913.",
  HTML: '<p>Your code is <a href="https://app.example/in">482913</a>.</p>',
  ...more,
});

for (const client of [open, mailpit]) {
  await client.deleteMessages();
  assert.deepEqual((await client.listMessages()).messages, []);
  assert.equal((await client.getInfo()).Messages, 0);

  const waiting = client.waitForMessage({ query: "to:ada@app.example" }, { timeout: 10_000, interval: 20 });
  await client.sendMessage(message("not-ada"));
  const attachment = { Content: Buffer.from("%PDF").toString("base64"), Filename: "größe.pdf" };
  const copies = {
    Cc: [{ Email: "cy@app.example" }],
    Bcc: ["hidden@app.example"],
    ReplyTo: [{ Email: "help@app.example" }],
  };
  const { ID } = await client.sendMessage(message("ada", { ...copies, Attachments: [attachment] }));
  const found = await waiting;
  assert.equal(found.ID, ID);
  assert.equal(found.Subject, "Sign in, ada");
  assert.deepEqual(found.From, { Name: "Zoë", Address: "shop@app.example" });
  assert.deepEqual(found.To, [{ Name: "Ada", Address: "ada@app.example" }]);
  assert.deepEqual(
    [found.Cc, found.Bcc].flat().map((one) => one.Address),
    ["cy@app.example", "hidden@app.example"],
  );
  assert.match(found.Text, /482913/);

  assert.equal((await client.listMessages()).messages_count, 2);
  assert.equal(
    (await client.waitForMessages({ query: "subject:sign", count: 2, exact: true })).messages.length,
    2,
  );
  assert.equal(
    (await client.searchMessages({ query: "482913 !to:ada@app.example" })).messages[0].To[0].Address,
    "not-ada@app.example",
  );
  const [file] = found.Attachments;
  assert.equal(file.FileName, "größe.pdf");
  assert.equal(
    Buffer.from(await (await client.getMessageAttachment(ID, file.PartID)).arrayBuffer()).toString(),
    "%PDF",
  );
  assert.deepEqual((await client.getMessageHeaders(ID))["Reply-To"], ["help@app.example"]);
  assert.match(await client.getMessageSource(), /^Subject: Sign in, ada\r$/m);
  assert.match(await client.renderMessageHTML(ID), /https:\/\/app\.example\/in/);
  // As suites for Supabase open it: this loses the path of a base URL.
  const page = await (await fetch(new URL("/view/latest.html?query=to:ada@app.example", url))).text();
  if (client === open) assert.match(page, /href="https:\/\/app\.example\/in"/);
  assert.match(await client.renderMessageText(), /482913/);
  assert.equal(await client.setReadStatus({ IDs: [ID], Read: true }), "ok");
  assert.deepEqual(await client.getTags(), []);
  assert.equal(await client.deleteMessagesBySearch({ query: "to:not-ada@app.example" }), "ok");
  assert.equal(await client.deleteMessages({ IDs: [ID] }), "ok");
  assert.equal((await client.listMessages()).total, 0);
}
console.log("passed");
