// A small application with a sign-up by email. It sends with nodemailer to the SMTP server in its environment.
import { randomBytes, randomInt } from "node:crypto";
import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { setTimeout as pause } from "node:timers/promises";
import nodemailer from "nodemailer";

const { PORT = "3000", SMTP_HOST = "127.0.0.1", SMTP_PORT = "1025" } = process.env;
const address = `http://127.0.0.1:${PORT}`;
const smtp = nodemailer.createTransport({ host: SMTP_HOST, port: Number(SMTP_PORT), ignoreTLS: true });
const tokens = new Map();
const users = new Map();

/** Sends a message, and tries again when the server says that it is busy. */
async function mail(message) {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await smtp.sendMail({ from: "Example shop <shop@app.example>", ...message });
    } catch (error) {
      if (attempt === 4 || !(error.responseCode >= 400 && error.responseCode < 500)) throw error;
      await pause(50 * attempt);
    }
  }
}

async function mailConfirmation(email, name) {
  const token = randomBytes(16).toString("hex");
  tokens.set(token, { email, name });
  const link = `${address}/confirm?token=${token}`;
  await mail({
    to: email,
    subject: "Confirm your account",
    text: `Hello ${name}!\n\nConfirm your account: ${link}\n\nHelp: ${address}/help`,
    html: `<h1 style="color:#246">Hello ${name}!</h1><p>One step is left.</p>
      <p><a href="${link}" style="background:#246;color:#fff;padding:8px 16px">Confirm your account</a></p>
      <p><a href="${address}/help">Help</a></p>`,
  });
}

async function mailCode(email) {
  const code = String(randomInt(1_000_000)).padStart(6, "0");
  users.set(email, { ...users.get(email), code });
  await mail({ to: email, subject: "Your sign-in code", text: `Your code is ${code}. It is valid for ten minutes.` });
}

async function mailReceipt(email) {
  const attachments = [{ filename: "receipt.txt", content: "One book, 12 euros\n" }];
  await mail({ to: email, subject: "Your receipt", text: "Thank you for your order.", attachments });
}

const field = (label, name) => `<p><label>${label} <input name="${name}" autocomplete="off"></label></p>`;
const form = (action, button, ...fields) =>
  `<form method="post" action="${action}">${fields.join("")}<button>${button}</button></form>`;

const PAGES = {
  "GET /": () => form("/sign-up", "Sign up", field("Name", "name"), field("Email", "email")),
  "POST /sign-up": async ({ email, name }) => {
    if (!/^[^@\s]+@[^@\s]+$/.test(email)) return "This is no address";
    await mailConfirmation(email, name);
    const again = form("/sign-up", "Send it again", hidden("email", email), hidden("name", name));
    return `Look into your mail, ${name}. ${again}`;
  },
  "GET /confirm": ({ token }) => {
    const user = tokens.get(token);
    if (user === undefined) return "This link is not valid";
    users.set(user.email, user);
    return `Welcome, ${user.name}`;
  },
  "GET /sign-in": () => form("/code", "Send me a code", field("Email", "email")),
  "POST /code": async ({ email }) => {
    await mailCode(email);
    return form("/sign-in", "Sign in", hidden("email", email), field("Code", "code"));
  },
  "POST /sign-in": ({ email, code }) => (users.get(email)?.code === code ? `Welcome, ${email}` : "Wrong code"),
  "GET /order": () => form("/order", "Order", field("Email", "email")),
  "POST /order": async ({ email }) => {
    await mailReceipt(email);
    return "Thank you";
  },
};

const hidden = (name, value) => `<input type="hidden" name="${name}" value="${value}">`;

async function answer(request) {
  const { pathname, searchParams } = new URL(request.url, address);
  const page = PAGES[`${request.method} ${pathname}`] ?? (() => "Not found");
  const fields = request.method === "POST" ? new URLSearchParams(await text(request)) : searchParams;
  return page(Object.fromEntries(fields));
}

createServer(async (request, response) => {
  response.setHeader("Content-Type", "text/html; charset=utf-8");
  try {
    response.end(await answer(request));
  } catch (error) {
    response.writeHead(500).end(`Mail failed: ${error.message}`);
  }
}).listen(Number(PORT), "127.0.0.1");
