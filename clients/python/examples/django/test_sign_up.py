"""Django's test client, and its email backend over SMTP. Needs pytest-django."""

import re

import pytest
from django.contrib.auth.models import User

# Django's test environment keeps mail in memory; `restante_django` sends it over SMTP.
pytestmark = pytest.mark.usefixtures("restante_django")


@pytest.mark.django_db
def test_a_visitor_confirms_the_account(client, restante_inbox):
    client.post("/sign-up", {"email": restante_inbox.address})
    assert not User.objects.get(email=restante_inbox.address).is_active

    message = restante_inbox.wait_for_message(subject=re.compile("confirm", re.I))
    response = client.get(message.link("/confirm"))

    assert response.content.decode() == f"Welcome, {restante_inbox.address}"
    assert User.objects.get(email=restante_inbox.address).is_active
