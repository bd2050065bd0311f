"""A small shop: it sends a code to a new customer, and confirms the account with it."""

import secrets
import smtplib
from email.message import EmailMessage


class Shop:
    def __init__(self, smtp_host, smtp_port):
        self.smtp = (smtp_host, smtp_port)
        self.codes = {}
        self.customers = set()

    def sign_up(self, email):
        code = self.codes[email] = f"{secrets.randbelow(10**6):06}"
        message = EmailMessage()
        message["From"], message["To"], message["Subject"] = "shop@app.example", email, "Confirm your account"
        message.set_content(f"Welcome to the shop. Your code is {code}.")
        with smtplib.SMTP(*self.smtp) as connection:
            connection.send_message(message)

    def confirm(self, email, code):
        if self.codes.get(email) == code:
            self.customers.add(email)
