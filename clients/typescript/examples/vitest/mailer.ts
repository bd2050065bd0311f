// Stands for the application under test.
import nodemailer from "nodemailer";

export async function sendCode(smtp: { host: string; port: number }, address: string): Promise<void> {
  const transport = nodemailer.createTransport({ ...smtp, ignoreTLS: true });
  await transport.sendMail({
    from: "app@example.com",
    to: address,
    subject: "Sign in",
    text: "Your code is 482913.",
  });
}
