"""Django's own mail: its test environment keeps mail in memory, so that nothing reaches an SMTP server."""

from __future__ import annotations

import sys
from typing import Any

SMTP_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
IN_MEMORY = "locmem"


def django_hint(address: str) -> str | None:
    """What to do if Django of this process keeps mail in memory; None if it does not."""
    settings = getattr(sys.modules.get("django.conf"), "settings", None)
    if settings is None or not settings.configured or IN_MEMORY not in str(settings.EMAIL_BACKEND):
        return None
    outbox: list[Any] = getattr(sys.modules.get("django.core.mail"), "outbox", None) or []
    own = sum(address in message.recipients() for message in outbox)
    kept = f" It keeps {own} message{'' if own == 1 else 's'} to this address there." if own else ""
    return (
        "Django keeps its mail in memory (django.core.mail.outbox), because its test environment replaces "
        f"EMAIL_BACKEND.{kept} Use the fixture restante_django, which sends the mail to Restante."
    )


def smtp_settings(host: str, port: int) -> dict[str, Any]:
    """The settings with which Django sends its mail to an SMTP server without TLS or a login."""
    return {
        "EMAIL_BACKEND": SMTP_BACKEND,
        "EMAIL_HOST": host,
        "EMAIL_PORT": port,
        "EMAIL_HOST_USER": "",
        "EMAIL_HOST_PASSWORD": "",
        "EMAIL_USE_TLS": False,
        "EMAIL_USE_SSL": False,
    }
