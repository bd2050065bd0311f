/** Sends mail as an application does. */

import nodemailer from "nodemailer";

import type { SmtpAddress } from "../../src/index.js";

/** A mail of a scenario. */
export interface Mail {
  to: string;
  from?: string;
  subject?: string;
  text?: string;
  html?: string;
  headers?: Record<string, string>;
  attachments?: { filename: string; content_type: string; base64: string }[];
  /** What the server's refusal begins with. */
  refused?: string;
}

/** Fails to send a mail over TLS, because the certificate is not trusted. */
export async function sendOverTls(smtp: SmtpAddress, to: string): Promise<void> {
  const transport = nodemailer.createTransport({ ...smtp, requireTLS: true });
  const sending = transport.sendMail({ from: "sender@app.example", to, text: "" });
  const outcome = await sending.then(
    () => "accepted",
    () => "failed",
  );
  if (outcome === "accepted") throw new Error("the mail was accepted");
}

/** Sends a mail over SMTP. */
export async function sendMail(smtp: SmtpAddress, mail: Mail): Promise<void> {
  const { refused, attachments = [], ...fields } = mail;
  const transport = nodemailer.createTransport({ ...smtp, ignoreTLS: true });
  const sending = transport.sendMail({
    from: "sender@app.example",
    text: "",
    ...fields,
    attachments: attachments.map(({ filename, content_type, base64 }) => ({
      filename,
      contentType: content_type,
      content: Buffer.from(base64, "base64"),
    })),
  });
  if (refused === undefined) {
    await sending;
    return;
  }
  const reply = await sending.then(
    ({ response }) => response,
    (error: unknown) => (error as { response?: string }).response ?? String(error as Error),
  );
  if (!reply.startsWith(refused)) throw new Error(`the mail got the reply ${reply}, not ${refused}`);
}
