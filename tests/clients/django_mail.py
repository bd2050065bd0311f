"""Sends one message with Django's SMTP backend: PORT FROM TO SUBJECT TEXT."""

import sys

from django.conf import settings
from django.core.mail import send_mail

port, sender, recipient, subject, text = sys.argv[1:]
settings.configure(
    EMAIL_HOST="127.0.0.1", EMAIL_PORT=int(port), EMAIL_HOST_USER="app", EMAIL_HOST_PASSWORD="secret", USE_TZ=True
)
send_mail(subject, text, sender, [recipient])
