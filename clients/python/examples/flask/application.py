"""A small application: it sends a code by email, and signs in the visitor who has it."""

import secrets
import smtplib
from email.message import EmailMessage

from flask import Flask, abort, current_app, request


def create_app(smtp_host: str, smtp_port: int) -> Flask:
    app = Flask(__name__)
    app.config.update(SMTP=(smtp_host, smtp_port), CODES={})

    @app.post("/code")
    def send_code() -> str:
        email = request.form["email"]
        code = current_app.config["CODES"][email] = f"{secrets.randbelow(10**6):06}"
        message = EmailMessage()
        message["From"], message["To"], message["Subject"] = "shop@app.example", email, "Sign in"
        message.set_content(f"Your code is {code}.")
        with smtplib.SMTP(*current_app.config["SMTP"]) as smtp:
            smtp.send_message(message)
        return "Look into your mail."

    @app.post("/sign-in")
    def sign_in() -> str:
        email = request.form["email"]
        if current_app.config["CODES"].get(email) != request.form["code"]:
            abort(403)
        return f"Welcome, {email}"

    return app
