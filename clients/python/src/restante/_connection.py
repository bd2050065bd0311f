"""Selects the server: an option in code, otherwise the environment, otherwise a new server."""

from __future__ import annotations

import os
from dataclasses import dataclass
from urllib.parse import urlsplit

from ._filters import checked_seconds
from .errors import RestanteError, UnreachableError
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
    mailpit_url: str
    server: Server | None = None
    log: str | None = None
    """The log file of a server that was started for this run."""


class _Secret(str):
    """A string whose `repr` hides it, for example in a report that shows local variables."""

    def __repr__(self) -> str:
        return "'rst_live_…'"


def connect(url: str | None, api_key: str | None, timeout: float | None, server: Server | None = None) -> Connection:
    """The settings of a client. Without a URL, it uses `server`, or starts one."""
    url = url or os.environ.get("RESTANTE_URL")
    api_key = api_key or os.environ.get("RESTANTE_API_KEY") or ""
    seconds = _timeout(timeout)
    if not all("!" <= character <= "~" for character in api_key):
        raise RestanteError("RESTANTE_API_KEY contains a space or another character that no key has")
    if url and server is None:
        domain = os.environ.get("RESTANTE_MAIL_DOMAIN") or "restante.example.com"
        url, smtp = _checked(url), _smtp(url)
        mailpit = os.environ.get("RESTANTE_MAILPIT_URL") or f"{url}/mailpit"
        return Connection(url, _Secret(api_key), seconds, smtp, domain, mailpit)
    server = server or Server(api_key=api_key)
    started = server.started
    mailpit = started.mailpit_url or f"{started.url}/mailpit"
    named = (started.smtp, started.mail_domain, mailpit)
    return Connection(started.url, _Secret(server.api_key), seconds, *named, server, started.log)


def _timeout(option: float | None) -> float:
    if option is not None:
        return checked_seconds(option, "timeout")
    return checked_seconds(os.environ.get("RESTANTE_TIMEOUT") or DEFAULT_TIMEOUT, "RESTANTE_TIMEOUT")


def _checked(url: str) -> str:
    if not url.startswith(("http://", "https://")):
        raise UnreachableError(
            f"The address of the server (RESTANTE_URL) must start with http:// or https://, not: {url}"
        )
    _split(url, UnreachableError(f"The address of the server needs a host, and a port up to 65535: {url}"))
    return url.rstrip("/")


def _smtp(url: str) -> Smtp:
    """The SMTP server of a given URL: `RESTANTE_SMTP`, otherwise the default port of the same host."""
    chosen = os.environ.get("RESTANTE_SMTP")
    error = RestanteError(f"RESTANTE_SMTP must be HOST:PORT, not {chosen!r}")
    host, port = _split(f"smtp://{chosen}" if chosen else url, error)
    return Smtp(host, (port if chosen else None) or 1025)


def _split(url: str, error: RestanteError) -> tuple[str, int | None]:
    """The host and the port of a URL."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
        is_name = host.isprintable() and host.encode("idna") != b""
    except ValueError:
        raise error from None
    if not is_name:
        raise error
    return host, port
