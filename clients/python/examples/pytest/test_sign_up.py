"""Sign up with a code from an email."""

import smtplib
from email.message import EmailMessage


def sign_up(smtp, email):
    """Simulates the application under test, which sends a code by email."""
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = "shop@app.example", email, "Confirm your account"
    message.set_content("Your code is 482913, or open https://app.example/confirm?token=c7d1")
    with smtplib.SMTP(smtp.host, smtp.port) as connection:
        connection.send_message(message)


def test_sign_up(restante, restante_inbox):
    sign_up(restante.smtp, restante_inbox.address)

    message = restante_inbox.wait_for_message(subject="confirm")

    assert message.code() == "482913"
    assert message.link("/confirm") == "https://app.example/confirm?token=c7d1"
