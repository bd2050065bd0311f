"""A small application: pydantic checks the address of a visitor, and a code in a mail confirms it."""

import secrets
import smtplib
from email.message import EmailMessage

from fastapi import FastAPI, HTTPException
from pydantic import BaseModel, EmailStr


class SignUp(BaseModel):
    email: EmailStr


class Confirmation(BaseModel):
    email: EmailStr
    code: str


def create_app(smtp_host: str, smtp_port: int, users: tuple[str, ...] = ()) -> FastAPI:
    """`users`: those that have confirmed their address before, as a seeded database has them."""
    app = FastAPI()
    codes: dict[str, str] = {}
    confirmed = set(users)

    def send_code(email: str) -> None:
        code = codes[email] = f"{secrets.randbelow(10**6):06}"
        message = EmailMessage()
        message["From"], message["To"], message["Subject"] = "shop@app.example", email, "Your code"
        message.set_content(f"Your code is {code}.")
        with smtplib.SMTP(smtp_host, smtp_port) as smtp:
            smtp.send_message(message)

    @app.post("/sign-up", status_code=202)
    def sign_up(visitor: SignUp) -> None:
        send_code(visitor.email)

    @app.post("/sign-in", status_code=202)
    def sign_in(visitor: SignUp) -> None:
        if visitor.email not in confirmed:
            raise HTTPException(404, "Sign up first.")
        send_code(visitor.email)

    @app.post("/confirm")
    def confirm(answer: Confirmation) -> str:
        if codes.get(answer.email) != answer.code:
            raise HTTPException(403, "Wrong code.")
        confirmed.add(answer.email)
        return f"Welcome, {answer.email}"

    return app
