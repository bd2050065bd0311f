"""Django's test client, and its e-mail back end over SMTP. Needs pytest-django."""

import re

import pytest
from django.contrib.auth.models import User


@pytest.fixture(autouse=True)
def mail_over_smtp(settings, restante):
    # pytest-django replaces the back end by one that keeps mail in memory.
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST = restante.smtp.host
    settings.EMAIL_PORT = restante.smtp.port


@pytest.mark.django_db
def test_a_visitor_confirms_the_account(client, restante_inbox):
    client.post("/sign-up", {"email": restante_inbox.address})
    assert not User.objects.get(email=restante_inbox.address).is_active

    message = restante_inbox.wait_for_message(subject=re.compile("confirm", re.I))
    response = client.get(message.link("/confirm"))

    assert response.content.decode() == f"Welcome, {restante_inbox.address}"
    assert User.objects.get(email=restante_inbox.address).is_active
