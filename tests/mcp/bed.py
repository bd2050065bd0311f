"""What both suites use: the server's addresses, the application under test, and the API's answer to a wait."""

import json
import os
import smtplib
import time
import urllib.error
import urllib.request
from email.message import EmailMessage

URL = os.environ["RESTANTE_URL"]
KEY = os.environ["RESTANTE_API_KEY"]
PROGRAM = os.environ["RESTANTE_PROGRAM"]
SMTP_PORT = int(os.environ["SMTP_PORT"])

TOOLS = {
    "setup",
    "create_inbox",
    "delete_inbox",
    "wait_for_message",
    "list_messages",
    "search_messages",
    "get_message",
    "get_attachment",
    "send_message",
    "get_outgoing",
    "check_message",
    "explain_missing",
    "set_faults",
    "get_faults",
}


def application_sends(to, subject, text, html=None, attachment=None, port=SMTP_PORT):
    """Stands for the application under test."""
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = "shop@app.example", to, subject
    message.set_content(text)
    if html is not None:
        message.add_alternative(html, subtype="html")
    if attachment is not None:
        name, kind, content = attachment
        maintype, subtype = kind.split("/")
        message.add_attachment(content, maintype=maintype, subtype=subtype, filename=name)
    with smtplib.SMTP("127.0.0.1", port) as smtp:
        smtp.send_message(message)


def post(path, body, headers, url=URL):
    """The status and the text of an answer."""
    request = urllib.request.Request(url + path, data=body, headers=headers, method="POST")
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def wait_status(inbox):
    """429 if the key's only slot is taken, else 408: the shortest wait that takes the slot."""
    url = f"{URL}/v1/inboxes/{inbox}/messages/wait?timeout=1"
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {KEY}"})
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        error.read()
        return error.code


def seconds_until_free(inbox):
    """How long after now the slot is free."""
    started = time.monotonic()
    while wait_status(inbox) != 408:
        assert time.monotonic() - started < 20, "the slot of the cancelled wait is still taken"
    return time.monotonic() - started


def shown(value):
    """For the message of a failed assertion."""
    return json.dumps(value, indent=1, default=str)
