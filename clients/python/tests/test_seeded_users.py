"""Twenty tests of an application with seeded users, as they were written for Mailpit: only `read_mail` is new.

For Mailpit, it searched in a loop:

    def read_mail(address):
        for _ in range(50):
            found = httpx.get(f"{MAILPIT}/api/v1/search", params={"query": f"to:{address}"}).json()["messages"]
            if found:
                return httpx.get(f"{MAILPIT}/api/v1/message/{found[0]['ID']}").json()["Text"]
            time.sleep(0.1)
        raise AssertionError(f"no mail to {address}")
"""

import re
import smtplib
from collections.abc import Callable
from email.message import EmailMessage

import pytest

from restante import Restante
from restante.model import Smtp

USERS = ["ada", "bob", "eve", "mallory", "trent"]


class Application:
    """Sends to the users that its database is seeded with."""

    def __init__(self, smtp: Smtp) -> None:
        self._smtp = smtp

    def _mail(self, to: str, subject: str, text: str) -> None:
        message = EmailMessage()
        message["From"], message["To"], message["Subject"] = "shop@app.example", to, subject
        message.set_content(text)
        with smtplib.SMTP(self._smtp.host, self._smtp.port) as smtp:
            smtp.send_message(message)

    def sign_in(self, user: str) -> None:
        self._mail(f"{user}@example.com", "Sign in", f"Hello {user}! Your code is {1000 + USERS.index(user)}.")

    def reset_password(self, user: str) -> None:
        self._mail(f"{user}@example.com", "New password", f"Hello {user}! https://app.example/reset?user={user}")

    def invite(self, user: str, by: str) -> None:
        self._mail(f"{user}@example.com", f"{by} invites you", f"Hello {user}! https://app.example/join?by={by}")

    def order(self, user: str, item: str) -> None:
        self._mail(f"{user}@example.com", "Your order", f"Hello {user}! You have ordered: {item}")


@pytest.fixture
def application(client: Restante) -> Application:
    return Application(client.smtp)


@pytest.fixture
def read_mail(client: Restante) -> Callable[[str], str]:
    """The text of the next mail to an address."""
    # Before the application sends, so that no message of an earlier test is found.
    inboxes = {f"{user}@example.com": client.inbox_for(f"{user}@example.com") for user in USERS}
    return lambda address: inboxes[address].wait_for_message().text


@pytest.mark.parametrize("user", USERS)
def test_a_user_signs_in(application: Application, read_mail: Callable[[str], str], user: str) -> None:
    application.sign_in(user)
    assert str(1000 + USERS.index(user)) in read_mail(f"{user}@example.com")


@pytest.mark.parametrize("user", USERS)
def test_a_user_sets_a_new_password(application: Application, read_mail: Callable[[str], str], user: str) -> None:
    application.reset_password(user)
    assert re.search(rf"https://app\.example/reset\?user={user}\b", read_mail(f"{user}@example.com"))


@pytest.mark.parametrize(("user", "by"), list(zip(USERS, reversed(USERS), strict=True)))
def test_a_user_is_invited(application: Application, read_mail: Callable[[str], str], user: str, by: str) -> None:
    application.invite(user, by)
    assert f"join?by={by}" in read_mail(f"{user}@example.com")


@pytest.mark.parametrize("user", USERS)
def test_a_user_gets_a_receipt(application: Application, read_mail: Callable[[str], str], user: str) -> None:
    application.order(user, f"a book for {user}")
    assert f"a book for {user}" in read_mail(f"{user}@example.com")
