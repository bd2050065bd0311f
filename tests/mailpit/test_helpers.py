"""pytest-mailpit and mailpit-api-client, helpers for Mailpit: MAILPIT_URL and MAILPIT_SMTP are those of a server."""

import os
import smtplib
from email.message import EmailMessage
from email.utils import formatdate, make_msgid

import pytest
from mailpit.client.api import API
from pytest_mailpit import Inbox, MailpitAPIError, MailpitAssertionError, MailpitClient


def send(to: str, subject: str = "Sign in") -> None:
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = "Shop <shop@app.example>", to, subject
    message["Cc"], message["Bcc"] = "cy@app.example", "hidden@app.example"
    message["Date"], message["Message-ID"] = formatdate(), make_msgid()
    message.set_content("Your code is 482913: https://app.example/in\n")
    message.add_alternative('<p>Your code is <a href="https://app.example/in">482913</a></p>', subtype="html")
    message.add_attachment(b"%PDF", maintype="application", subtype="pdf", filename="invoice.pdf")
    host, port = os.environ["MAILPIT_SMTP"].rsplit(":", 1)
    with smtplib.SMTP(host, int(port)) as smtp:
        smtp.send_message(message)


def test_an_inbox_of_pytest_mailpit_gets_its_message_and_no_other(mailpit_inbox: Inbox) -> None:
    send(f"not-{mailpit_inbox.address}")
    send(mailpit_inbox.address)
    message = mailpit_inbox.wait_for_message(subject="sign", sender="shop@app.example")
    assert (message.subject, message.sender.address) == ("Sign in", "shop@app.example")
    assert [one.address for one in message.bcc] == ["hidden@app.example"]
    assert message.links() == ["https://app.example/in"]
    [attachment] = message.attachments
    assert mailpit_inbox.client.get_attachment(attachment) == b"%PDF"
    mailpit_inbox.assert_no_message(subject="Another", within=0.1)


def test_a_client_of_pytest_mailpit_searches_and_deletes(mailpit: MailpitClient) -> None:
    for number in range(5):
        send("ada@app.example", f"Number {number}")
    mailpit.wait_for_messages(5, recipient="ada@app.example")
    found = mailpit.search_all("to:ada@app.example", page_size=2)
    assert [one.subject for one in found] == [f"Number {number}" for number in (4, 3, 2, 1, 0)]
    assert mailpit.get_headers(found[0].id)["Subject"] == ["Number 4"]
    assert b"Subject: Number 4" in mailpit.get_raw(found[0].id)
    mailpit.delete_messages([found[0].id])
    assert mailpit.search("to:ada@app.example").messages_count == 4
    mailpit.delete_search("to:ada@app.example subject:3")
    assert mailpit.search("to:ada@app.example").messages_count == 3
    with pytest.raises(MailpitAPIError, match="404"):
        mailpit.get_message("unknown")
    with pytest.raises(MailpitAssertionError, match="Number 0"):
        mailpit.wait_for_message(recipient="ada@app.example", subject="Unknown", timeout=0.1)
    mailpit.delete_all()
    assert mailpit.messages().total == 0


def test_mailpit_api_client_lists_and_deletes_what_it_names() -> None:
    api = API(os.environ["MAILPIT_URL"].rstrip("/"))
    api.delete_messages([])
    for name in ("ada", "bob"):
        send(f"{name}@app.example")
    newest, oldest = api.get_messages().messages
    assert (newest.to[0].address, oldest.to[0].address) == ("bob@app.example", "ada@app.example")
    assert (newest.from_.name, newest.attachments, newest.read) == ("Shop", 1, False)
    assert api.get_message_attachment(newest.id, "2") == "%PDF"
    api.put_messages([newest.id], "Read", True)
    api.delete_messages([newest.id])
    assert [one.id for one in api.get_messages().messages] == [oldest.id]
