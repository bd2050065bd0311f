"""A small web application: it sends a link by email, and signs in the visitor who opens it."""

import secrets
import smtplib
from email.message import EmailMessage

from flask import Flask, current_app, request, url_for

FORM = """<!doctype html><title>Shop</title>
<form method="post"><label>Email <input name="email"></label> <button>Send me a link</button></form>"""


def create_app(smtp_host: str, smtp_port: int) -> Flask:
    app = Flask(__name__)
    app.config.update(SMTP=(smtp_host, smtp_port), VISITORS={})

    @app.get("/")
    def form() -> str:
        return FORM

    @app.post("/")
    def send_link() -> str:
        token = secrets.token_urlsafe()
        current_app.config["VISITORS"][token] = request.form["email"]
        link = url_for("sign_in", token=token, _external=True)
        message = EmailMessage()
        message["From"], message["To"], message["Subject"] = "shop@app.example", request.form["email"], "Your link"
        message.set_content(f"Sign in: {link}")
        message.add_alternative(f'<p>Hello! <a href="{link}">Sign in</a></p>', subtype="html")
        with smtplib.SMTP(*current_app.config["SMTP"]) as smtp:
            smtp.send_message(message)
        return "Look into your mail."

    @app.get("/sign-in")
    def sign_in() -> str:
        return f"Welcome, {current_app.config['VISITORS'][request.args['token']]}"

    return app
