"""Stands for an application that mails."""

import smtplib
from base64 import b64decode
from collections.abc import Mapping, Sequence
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import parseaddr

from restante.model import Smtp


def compose(
    to: str,
    subject: str = "",
    text: str = "",
    html: str = "",
    sender: str = "sender@app.example",
    headers: Mapping[str, str] | None = None,
    attachments: Sequence[Mapping[str, str]] = (),
) -> EmailMessage:
    message = EmailMessage(policy=SMTP)
    message["From"], message["To"], message["Subject"] = sender, to, subject
    for name, value in (headers or {}).items():
        message[name] = value
    message.set_content(text)
    if html:
        message.add_alternative(html, subtype="html")
    for attachment in attachments:
        kind = attachment["content_type"].split("/")
        content = b64decode(attachment["base64"])
        message.add_attachment(content, kind[0], kind[1], filename=attachment["filename"])
    return message


def deliver(smtp: Smtp, message: EmailMessage) -> str:
    """Sends a message, and returns the reply that decided: the last one, or the first that refuses."""
    with smtplib.SMTP(smtp.host, smtp.port, timeout=30) as connection:
        connection.ehlo()
        steps = (
            lambda: connection.mail(parseaddr(message["From"])[1]),
            lambda: connection.rcpt(message["To"]),
            lambda: connection.data(message.as_bytes()),
        )
        try:
            for step in steps:
                code, text = step()
                if code >= 400:
                    break
        except smtplib.SMTPDataError as error:
            code, text = error.smtp_code, error.smtp_error
        return f"{code} {text.decode() if isinstance(text, bytes) else text}"


def mail(smtp: Smtp, to: str, subject: str, text: str = "", html: str = "") -> None:
    """Sends a message that must be accepted."""
    reply = deliver(smtp, compose(to, subject, text, html))
    assert reply.startswith("250"), reply
