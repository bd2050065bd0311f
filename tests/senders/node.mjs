// Real SDKs for Node send to a running server: RESTANTE_URL, RESTANTE_API_KEY; SDKS is the directory with node_modules.
import assert from "node:assert/strict";
import { createRequire } from "node:module";

const url = process.env.RESTANTE_URL;
const key = process.env.RESTANTE_API_KEY;
const require = createRequire(`${process.env.SDKS}/`);

const { Resend } = require("resend");
const sendgrid = require("@sendgrid/mail");
const { Client: SendGridClient } = require("@sendgrid/client");
const sesv2 = require("@aws-sdk/client-sesv2");
const ses = require("@aws-sdk/client-ses");
const nodemailer = require("nodemailer");
const postmark = require("postmark");
const formData = require("form-data");
const Mailgun = require("mailgun.js").default ?? require("mailgun.js");

async function api(method, path, body) {
  const response = await fetch(`${url}/v1${path}`, {
    method,
    headers: { Authorization: `Bearer ${key}` },
    body: body && JSON.stringify(body),
  });
  assert.ok(response.ok, `${method} ${path}: ${response.status}`);
  return response.status === 204 ? null : response;
}
const json = async (...call) => (await api(...call)).json();
const received = (inbox) => json("GET", `/inboxes/${inbox.id}/messages/wait?timeout=10000`);
const bytes = async (...call) => Buffer.from(await (await api(...call)).arrayBuffer());

const credentials = { accessKeyId: "AKIAIOSFODNN7EXAMPLE", secretAccessKey: "secret" };
const aws = { region: "us-east-1", credentials, endpoint: `${url}/send/ses` };
const v2 = new sesv2.SESv2Client(aws);
const v1 = new ses.SESClient(aws);
const resend = new Resend("re_dummy", { baseUrl: `${url}/send/resend` });
const gridClient = new SendGridClient();
gridClient.setApiKey("SG.dummy");
gridClient.setDefaultRequest("baseUrl", `${url}/send/sendgrid`);
sendgrid.setClient(gridClient);
const mark = new postmark.ServerClient("dummy", {
  useHttps: false,
  requestHost: `${new URL(url).host}/send/postmark`,
});
const gun = new Mailgun(formData).client({ username: "api", key: "key-dummy", url: `${url}/send/mailgun` });
const transport = nodemailer.createTransport({
  SES: { sesClient: v2, SendEmailCommand: sesv2.SendEmailCommand },
});

/** Resend returns its errors. */
async function unwrapped(promise) {
  const { data, error } = await promise;
  if (error) throw Object.assign(new Error(error.message), { status: error.statusCode, name: error.name });
  return data;
}

const asResend = (mail) => ({
  ...mail,
  attachments: mail.files?.map(({ name, type, content, cid }) => ({
    filename: name, contentType: type, content, contentId: cid,
  })),
  files: undefined,
});
const asSendGrid = ({ replyTo, files, ...mail }) => ({
  ...mail,
  replyTo,
  attachments: files?.map(({ name, type, content, cid }) => ({
    filename: name, type, content: content.toString("base64"),
    disposition: cid ? "inline" : "attachment", content_id: cid,
  })),
});
const asPostmark = (mail) => ({
  From: mail.from, To: mail.to?.join(","), Cc: mail.cc?.join(","), Bcc: mail.bcc?.join(","), ReplyTo: mail.replyTo,
  Subject: mail.subject, TextBody: mail.text, HtmlBody: mail.html,
  Headers: Object.entries(mail.headers ?? {}).map(([Name, Value]) => ({ Name, Value })),
  Attachments: mail.files?.map(({ name, type, content, cid }) => ({
    Name: name, ContentType: type, Content: content.toString("base64"), ContentID: cid ? `cid:${cid}` : null,
  })),
});
const asMailgun = ({ replyTo, headers = {}, files = [], ...mail }) => {
  const file = ({ name, type, content, cid }) => ({ filename: cid ?? name, contentType: type, data: content });
  const own = Object.entries({ ...headers, ...(replyTo && { "Reply-To": replyTo }) });
  return {
    ...mail,
    ...Object.fromEntries(own.map(([name, value]) => [`h:${name}`, value])),
    attachment: files.filter((one) => !one.cid).map(file),
    inline: files.filter((one) => one.cid).map(file),
  };
};
const text = (Data) => Data && { Data, Charset: "UTF-8" };
const asSes = (mail) => ({
  FromEmailAddress: mail.from,
  Destination: { ToAddresses: mail.to, CcAddresses: mail.cc, BccAddresses: mail.bcc },
  ReplyToAddresses: mail.replyTo && [mail.replyTo],
  Content: {
    Simple: {
      Subject: text(mail.subject),
      Body: { Text: text(mail.text), Html: text(mail.html) },
      Headers: mail.headers && Object.entries(mail.headers).map(([Name, Value]) => ({ Name, Value })),
      Attachments: mail.files?.map(({ name, type, content, cid }) => ({
        FileName: name, ContentType: type, RawContent: content,
        ContentDisposition: cid ? "INLINE" : "ATTACHMENT", ContentId: cid,
      })),
    },
  },
});
const asSesV1 = (mail) => ({
  Source: mail.from,
  Destination: { ToAddresses: mail.to, CcAddresses: mail.cc, BccAddresses: mail.bcc },
  ReplyToAddresses: mail.replyTo && [mail.replyTo],
  Message: { Subject: text(mail.subject), Body: { Text: text(mail.text), Html: text(mail.html) } },
});
const asNodemailer = ({ files, ...mail }) => ({
  ...mail,
  attachments: files?.map(({ name, type, content, cid }) => ({ filename: name, contentType: type, content, cid })),
});
const simple = (to, subject) => ({ from: "shop@app.example", to: [to], subject, text: "Hello" });
const variables = { code: "482913" };

const SDKS = [
  {
    name: "resend", via: "resend", later: 429, never: 403,
    send: (mail) => unwrapped(resend.emails.send(asResend(mail))),
    batch: (mails) => unwrapped(resend.batch.send(mails)),
    template: (to) =>
      unwrapped(resend.emails.send({ from: "a@app.example", to, template: { id: "welcome", variables } })),
    status: (error) => error.status,
  },
  {
    name: "@sendgrid/mail", via: "sendgrid", later: 429, never: 403,
    send: (mail) => sendgrid.send(asSendGrid(mail)),
    batch: (mails) => sendgrid.send(mails),
    template: (to) =>
      sendgrid.send({ from: "a@app.example", to, templateId: "d-welcome", dynamicTemplateData: variables }),
    status: (error) => error.code,
  },
  {
    name: "postmark", via: "postmark", later: 429, never: 422,
    send: (mail) => mark.sendEmail(asPostmark(mail)),
    batch: (mails) => mark.sendEmailBatch(mails.map(asPostmark)),
    template: (to) =>
      mark.sendEmailWithTemplate({ From: "a@app.example", To: to, TemplateAlias: "welcome", TemplateModel: variables }),
    status: (error) => error.statusCode,
  },
  {
    name: "mailgun.js", via: "mailgun", later: 429, never: 403,
    send: (mail) => gun.messages.create("app.example", asMailgun(mail)),
    batch: ([one, other]) =>
      gun.messages.create("app.example", {
        ...one, to: [...one.to, ...other.to], subject: "%recipient.subject%",
        "recipient-variables": JSON.stringify({
          [one.to[0]]: { subject: one.subject }, [other.to[0]]: { subject: other.subject },
        }),
      }),
    template: (to) =>
      gun.messages.create("app.example", {
        from: "a@app.example", to, template: "welcome", "t:variables": JSON.stringify(variables),
      }),
    status: (error) => error.status,
  },
  {
    name: "@aws-sdk/client-sesv2", via: "ses", retries: true, never: 400,
    send: (mail) => v2.send(new sesv2.SendEmailCommand(asSes(mail))),
    batch: (mails) =>
      v2.send(
        new sesv2.SendBulkEmailCommand({
          FromEmailAddress: mails[0].from,
          DefaultContent: {
            Template: { TemplateContent: { Subject: "{{subject}}", Text: "Hello" }, TemplateData: "{}" },
          },
          BulkEmailEntries: mails.map(({ to, subject }) => ({
            Destination: { ToAddresses: to },
            ReplacementEmailContent: {
              ReplacementTemplate: { ReplacementTemplateData: JSON.stringify({ subject }) },
            },
          })),
        }),
      ),
    template: (to) =>
      v2.send(
        new sesv2.SendEmailCommand({
          FromEmailAddress: "a@app.example", Destination: { ToAddresses: [to] },
          Content: { Template: { TemplateName: "welcome", TemplateData: JSON.stringify(variables) } },
        }),
      ),
    status: (error) => error.$metadata.httpStatusCode,
  },
  {
    name: "@aws-sdk/client-ses", via: "ses", retries: true, never: 400, isPlain: true,
    send: (mail) => v1.send(new ses.SendEmailCommand(asSesV1(mail))),
    status: (error) => error.$metadata.httpStatusCode,
  },
  {
    name: "nodemailer, SES transport", via: "ses", retries: true, never: 400,
    send: (mail) => transport.sendMail(asNodemailer(mail)),
    status: (error) => error.$metadata.httpStatusCode,
  },
];

const file = Buffer.from([...Array(256).keys(), ...Buffer.from("a\nb\r\nc\rd")]);
const image = Buffer.from("iVBORw0KGgo=", "base64");

async function whole(sdk) {
  const [to, cc, bcc] = await Promise.all([1, 2, 3].map(() => json("POST", "/inboxes")));
  await sdk.send({
    from: "Zoë <shop@app.example>", to: [`Ada Lövelace <${to.address}>`], cc: [cc.address], bcc: [bcc.address],
    replyTo: "help@app.example", subject: "Grüße 🐌", text: "Your code is 482913.",
    html: '<p>Grüße <img src="cid:logo"> <a href="https://app.example/in">in</a>',
    ...(!sdk.isPlain && {
      headers: { "X-Order": "4711" },
      files: [
        { name: "größe.bin", type: "application/octet-stream", content: file },
        { name: "logo.png", type: "image/png", content: image, cid: "logo" },
      ],
    }),
  });
  const messages = await Promise.all([to, cc, bcc].map(received));
  for (const message of messages) {
    const details = await json("GET", `/messages/${message.id}/details`);
    assert.equal(details.envelope.via, sdk.via);
    assert.deepEqual([details.from[0].name, details.from[0].address], ["Zoë", "shop@app.example"]);
    assert.deepEqual([details.to[0].name, details.to[0].address], ["Ada Lövelace", to.address]);
    assert.deepEqual([details.cc[0].address, details.reply_to[0].address], [cc.address, "help@app.example"]);
    assert.ok(!details.headers.some(({ name, value }) => name === "Bcc" || value.includes(bcc.address)));
    assert.deepEqual([message.subject, message.otp], ["Grüße 🐌", "482913"]);
    assert.deepEqual(message.links, ["https://app.example/in"]);
    if (sdk.isPlain) continue;
    assert.equal(details.headers.find(({ name }) => name.toLowerCase() === "x-order").value, "4711");
    assert.equal(details.attachments.length, 2);
    for (const { index, inline, content_id, filename } of details.attachments) {
      const content = await bytes("GET", `/messages/${message.id}/attachments/${index}`);
      assert.deepEqual(content, inline ? image : file);
      assert.equal(inline ? content_id : filename, inline ? "logo" : "größe.bin");
    }
  }
}

async function plain(sdk) {
  const inbox = await json("POST", "/inboxes");
  await sdk.send(simple(inbox.address, "Plain"));
  const message = await received(inbox);
  assert.deepEqual([message.subject, message.text, message.html], ["Plain", "Hello", ""]);
}

async function batch(sdk) {
  const inboxes = await Promise.all([json("POST", "/inboxes"), json("POST", "/inboxes")]);
  await sdk.batch(inboxes.map(({ address }, index) => simple(address, `Batch ${index}`)));
  const messages = await Promise.all(inboxes.map(received));
  // SES has no subject for each entry: it is a variable of the template.
  const shown = messages.map(({ subject, text }) => `${subject} ${text}`.match(/Batch \d/)[0]);
  assert.deepEqual(shown, ["Batch 0", "Batch 1"]);
}

async function template(sdk) {
  const inbox = await json("POST", "/inboxes");
  await sdk.template(inbox.address);
  const { template: id, variables: shown } = JSON.parse((await received(inbox)).text);
  // SendGrid's ids of templates with variables begin with d-.
  assert.deepEqual([id.replace("d-", ""), shown], ["welcome", variables]);
}

async function refused(sdk) {
  const inbox = await json("POST", "/inboxes");
  const error = await sdk.send(simple(`${inbox.id}@elsewhere.example`, "Refused")).then(
    () => assert.fail("the recipient was accepted"),
    (error) => error,
  );
  assert.equal(sdk.status(error), sdk.never, error);
  assert.match(error.message + JSON.stringify(error.response ?? error.details ?? ""), /relay not permitted|Forbidden/);
  const { summary } = await json("GET", `/inboxes/${inbox.id}/explain`);
  assert.match(summary, /@elsewhere\.example was rejected .* 550 5\.7\.1/);
}

/** The SDK's own retry, if it has one; else the application's. */
async function retry(sdk) {
  const inbox = await json("POST", "/inboxes");
  await json("PUT", `/inboxes/${inbox.id}/faults`, { faults: [{ at: "data", do: "defer" }] });
  const mail = simple(inbox.address, "Again");
  if (!sdk.retries) {
    await assert.rejects(sdk.send(mail), (error) => sdk.status(error) === sdk.later);
  }
  await sdk.send(mail);
  assert.equal((await received(inbox)).subject, "Again");
  const { faults } = await json("GET", `/inboxes/${inbox.id}/faults`);
  assert.equal(faults[0].used, 1);
}

for (const sdk of SDKS) {
  for (const check of [plain, whole, batch, template, refused, retry]) {
    if (check === batch && !sdk.batch) continue;
    if (check === template && !sdk.template) continue;
    try {
      await check(sdk);
    } catch (error) {
      throw new Error(`${sdk.name}, ${check.name}: ${error.message}`, { cause: error });
    }
  }
}
console.log("passed");
