"""Forty tests, in whose middle tests/restart/run restarts PostgreSQL. Unless it is named, pytest does not run this."""

import os
import smtplib
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from email.message import EmailMessage
from pathlib import Path

import pytest

from restante import Inbox, Restante


@pytest.mark.parametrize("number", range(40))
def test_sign_up(restante: Restante, restante_new_inbox: Callable[[], Inbox], number: int) -> None:
    began = milliseconds()
    with ThreadPoolExecutor(1) as application:
        for mail in range(3):
            code = str(100_000 + number * 10 + mail)
            inbox = restante_new_inbox()
            sent = application.submit(send, restante, inbox.address, code)
            assert inbox.wait_for_message("confirm").code() == code
            sent.result()
    with Path(os.environ["PASSED"]).open("a") as passed:
        passed.write(f"{number} {began} {milliseconds()}\n")


def milliseconds() -> int:
    return int(time.time() * 1000)


def send(restante: Restante, to: str, code: str) -> None:
    """The application. As a mail server does, it repeats what was not accepted for now."""
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = "shop@app.example", to, "Confirm your account"
    message.set_content(f"Your code is {code}.")
    while True:
        try:
            with smtplib.SMTP(restante.smtp.host, restante.smtp.port) as smtp:
                smtp.send_message(message)
                return
        except OSError as error:
            if is_final(error):
                raise
        time.sleep(0.2)


def is_final(error: OSError) -> bool:
    """smtplib has an error of its own if no recipient was accepted. A connection that broke has no code."""
    if isinstance(error, smtplib.SMTPRecipientsRefused):
        return any(code >= 500 for code, _ in error.recipients.values())
    return isinstance(error, smtplib.SMTPResponseException) and error.smtp_code >= 500
