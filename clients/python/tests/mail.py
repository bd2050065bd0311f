"""Stands for an application that sends mail."""

import smtplib
import ssl
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
        code, text = connection.mail(parseaddr(message["From"])[1])
        if code < 400:
            code, text = connection.rcpt(message["To"])
        if code < 400:
            code, text = connection.data(message.as_bytes())
        return f"{code} {text.decode()}"


def deliver_over_tls(smtp: Smtp, to: str) -> None:
    """Fails to send a message, because the certificate is not trusted."""
    with smtplib.SMTP(smtp.host, smtp.port, timeout=30) as connection:
        connection.starttls(context=ssl.create_default_context())
        connection.send_message(compose(to))


def mail(smtp: Smtp, to: str, subject: str, text: str = "", html: str = "") -> None:
    """Sends a message that must be accepted."""
    reply = deliver(smtp, compose(to, subject, text, html))
    assert reply.startswith("250"), reply
