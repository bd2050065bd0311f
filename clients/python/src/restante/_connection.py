"""Selects the server: an option in code, otherwise the environment, otherwise a new server."""

from __future__ import annotations

import os
from dataclasses import dataclass
from urllib.parse import urlsplit

from .errors import UnreachableError
from .model import Smtp
from .server import Server

DEFAULT_TIMEOUT = 30.0


@dataclass(frozen=True)
class Connection:
    """The data of a server that a client needs. The key is not shown."""

    url: str
    api_key: str
    timeout: float
    smtp: Smtp
    mail_domain: str
    server: Server | None = None


class _Secret(str):
    """A string whose `repr` hides it, for example in a report that shows local variables."""

    def __repr__(self) -> str:
        return "'rst_live_…'"


def connect(url: str | None, api_key: str | None, timeout: float | None, server: Server | None = None) -> Connection:
    """The settings of a client. Without a URL, it uses `server`, or starts one."""
    url = url or os.environ.get("RESTANTE_URL")
    api_key = api_key or os.environ.get("RESTANTE_API_KEY") or ""
    seconds = float(os.environ.get("RESTANTE_TIMEOUT") or DEFAULT_TIMEOUT) if timeout is None else timeout
    if url and server is None:
        domain = os.environ.get("RESTANTE_MAIL_DOMAIN") or "restante.test"
        return Connection(_checked(url), _Secret(api_key), seconds, _smtp(url), domain)
    server = server or Server(api_key=api_key)
    started = server.started
    return Connection(started.url, _Secret(server.api_key), seconds, started.smtp, started.mail_domain, server)


def _checked(url: str) -> str:
    if not url.startswith(("http://", "https://")):
        raise UnreachableError(f"The address of the server must start with http:// or https://: {url}")
    return url.rstrip("/")


def _smtp(url: str) -> Smtp:
    """The SMTP server of a given URL: `RESTANTE_SMTP`, otherwise the default port of the same host."""
    chosen = os.environ.get("RESTANTE_SMTP")
    parts = urlsplit(f"smtp://{chosen}" if chosen else url)
    return Smtp(parts.hostname or "127.0.0.1", (parts.port if chosen else None) or 1025)
