// Sends one message with text, HTML and an attachment: PORT plain|starttls|tls FROM TO SUBJECT TEXT [USER PASSWORD]
const nodemailer = require("nodemailer");

const [port, tls, from, to, subject, text, user, pass] = process.argv.slice(2);
const transport = nodemailer.createTransport({
  host: "127.0.0.1",
  port: Number(port),
  secure: tls === "tls",
  auth: user && { user, pass },
  ignoreTLS: tls === "plain",
  requireTLS: tls === "starttls",
  tls: { rejectUnauthorized: false }, // the certificate is self-signed
});
const html = '<p>Your code is <b>482913</b>. <a href="https://app.example/confirm?id=7&amp;lang=en">Confirm</a></p>';
const attachments = [{ filename: "zeros.bin", content: Buffer.alloc(200_000) }];

transport.sendMail({ from, to, subject, text, html, attachments }).catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
