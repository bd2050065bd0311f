"""Sign in with a code that comes by mail."""

import json
import os
import smtplib
import urllib.request
from email.message import EmailMessage

import pytest

INBOXES = os.environ.get("RESTANTE_URL", "http://127.0.0.1:8025") + "/v1/inboxes"
KEY = os.environ["RESTANTE_API_KEY"]
SMTP_PORT = int(os.environ.get("SMTP_PORT", "1025"))


def call(method, path=""):
    request = urllib.request.Request(INBOXES + path, method=method, headers={"Authorization": f"Bearer {KEY}"})
    with urllib.request.urlopen(request) as answer:
        return json.loads(answer.read() or "null")


@pytest.fixture
def inbox():
    inbox = call("POST")
    yield inbox
    call("DELETE", f"/{inbox['id']}")


def ask_for_a_code(address):
    """Stands for the application under test, which mails the code."""
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = "app@example.com", address, "Sign in"
    message.set_content("Your code is 482913.\n\nOr sign in at https://app.example.com/sign-in?token=c7d1")
    with smtplib.SMTP("127.0.0.1", SMTP_PORT) as smtp:
        smtp.send_message(message)


def test_the_mail_has_the_code_and_the_link(inbox):
    ask_for_a_code(inbox["address"])

    message = call("GET", f"/{inbox['id']}/messages/wait?timeout=30000")

    assert message["subject"] == "Sign in"
    assert message["otp"] == "482913"
    assert message["links"] == ["https://app.example.com/sign-in?token=c7d1"]
