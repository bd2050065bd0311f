// Stands for the application under test: it mails a code and signs in the visitor who types it.
import { randomInt } from "node:crypto";
import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import nodemailer from "nodemailer";

const smtp = nodemailer.createTransport({ host: "127.0.0.1", port: process.env.SMTP_PORT ?? 1025, ignoreTLS: true });
const codes = new Map();

const form = (action, label, name, button) => `<form method="post" action="${action}">
  <label>${label} <input name="${name}" autocomplete="off"></label> <button>${button}</button></form>`;

async function page(request) {
  const fields = new URLSearchParams(await text(request));
  if (request.url === "/code") {
    const code = String(randomInt(100_000, 1_000_000));
    codes.set(code, fields.get("email"));
    await smtp.sendMail({
      from: "app@example.com",
      to: fields.get("email"),
      subject: "Sign in",
      text: `Your code is ${code}.`,
    });
    return form("/sign-in", "Code", "code", "Sign in");
  }
  if (request.url === "/sign-in") {
    return codes.has(fields.get("code")) ? `Welcome, ${codes.get(fields.get("code"))}` : "Wrong code";
  }
  return form("/code", "E-mail", "email", "Send me a code");
}

createServer(async (request, response) => {
  response.setHeader("Content-Type", "text/html; charset=utf-8");
  response.end(await page(request));
}).listen(Number(process.env.APPLICATION_PORT ?? 3000), "127.0.0.1");
