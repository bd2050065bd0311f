// An Express application that checks addresses with zod and with Joi, and confirms them with a link in a mail.
import { randomBytes } from "node:crypto";
import express from "express";
import Joi from "joi";
import nodemailer from "nodemailer";
import { z } from "zod";

const { PORT = "3000", SMTP_HOST = "127.0.0.1", SMTP_PORT = "1025" } = process.env;
const smtp = nodemailer.createTransport({ host: SMTP_HOST, port: Number(SMTP_PORT), ignoreTLS: true });
const tokens = new Map();
/** The users that the database is seeded with. */
const members = new Set(["ada@example.com"]);

const visitor = z.object({ email: z.email() });
const member = Joi.object({ email: Joi.string().email().required() });

async function mailLink(email, subject) {
  const token = randomBytes(16).toString("hex");
  tokens.set(token, email);
  const text = `Open http://127.0.0.1:${PORT}/confirm?token=${token}`;
  await smtp.sendMail({ from: "shop@app.example", to: email, subject, text });
}

const page = (action) =>
  `<form method="post" action="${action}"><label>Email <input name="email"></label><button>Send</button></form>`;

const app = express();
app.use(express.urlencoded({ extended: false }));
app.get("/sign-up", (_request, response) => response.send(page("/sign-up")));
app.post("/sign-up", async (request, response) => {
  const { success, data } = visitor.safeParse(request.body);
  if (!success) return response.status(422).send("This is no address");
  await mailLink(data.email, "Confirm your account");
  return response.send("Look into your mail");
});
app.get("/sign-in", (_request, response) => response.send(page("/sign-in")));
app.post("/sign-in", async (request, response) => {
  const { error, value } = member.validate(request.body);
  if (error) return response.status(422).send("This is no address");
  if (members.has(value.email)) await mailLink(value.email, "Sign in");
  return response.send("Look into your mail");
});
app.get("/confirm", (request, response) => {
  const email = tokens.get(request.query.token);
  if (email === undefined) return response.status(404).send("This link is not valid");
  members.add(email);
  return response.send(`Welcome, ${email}`);
});
app.listen(Number(PORT), "127.0.0.1");
