"""The texts of the errors, for readers of a failed test."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from ._django import django_hint
from ._filters import Filters
from ._protocol import Reply, Request
from .model import Explanation, InboxData, MessageData, Problem

CLOSED = "The client was closed."
NO_LOG = "(none, as after kill -9, or if the memory was exhausted)"
LOG_TAIL = 2_000
"""How much of a server's log an error shows, in characters."""


REMEDIES = {
    "inbox not found": "It was never created, has expired or was deleted, or belongs to another key.",
    "message not found": "It was deleted, its inbox has expired, or it belongs to another key.",
    "recipient not found": "No inbox has this address now: create it first.",
    "domain not accepted": "Start the server with --accept-domains and this domain.",
    "invalid after": "Pass the id of a message that is or was in this inbox.",
    "invalid field: at": "It is rcpt or data; bounce, drop and duplicate are only at data.",
    "invalid field: reply": "It is one line such as 451 4.7.1 Come back later: 4xx with defer, 5xx with reject.",
}
"""What to do about some errors of the server, by their texts."""


def said(reply: Reply) -> str | None:
    """The error text of the server; None if it is not a response of Restante."""
    try:
        text = json.loads(reply.body)["error"]
    except (ValueError, KeyError, TypeError):
        return None
    return text if isinstance(text, str) else None


def foreign(url: str, request: str, reply: Reply) -> str:
    """The text if another server answers."""
    found = reply.body[:200].decode(errors="replace").strip() or "nothing"
    return (
        f"Another server than Restante answers at {url}. It answered {request} with {reply.status} {found}\n"
        "Is RESTANTE_URL right?"
    )


def ended(url: str, cause: str, log: str) -> str:
    """The text if the server that was started for this run does not answer."""
    try:
        lines = Path(log).read_text(errors="replace")[-LOG_TAIL:].strip() or NO_LOG
    except OSError:
        lines = f"(the log is gone: {log})"
    return f"The server of this run does not answer at {url} ({cause}). Its last log lines:\n{lines}"


def reason(reply: Reply) -> str:
    """The error text of the server; if it is not a response of Restante, the start of the body."""
    return said(reply) or reply.body[:200].decode(errors="replace").strip() or "no text"


def rejected(request: Request, reply: Reply) -> str:
    """The text for a request that the server rejects, with what to do about it."""
    why = reason(reply)
    query = f"?{urlencode(request.query)}" if request.query else ""
    remedy = f". {REMEDIES[why]}" if why in REMEDIES else ""
    return f"{request.method} {request.path}{query}: {reply.status} {why}{remedy}"


def unreachable(url: str, cause: str, is_connected: bool = False) -> str:
    """The text if there is no response; `is_connected`: something accepts connections, but does not speak HTTP."""
    if is_connected:
        return (
            f"{url} accepts connections, but gives no HTTP response ({cause.rstrip('.')}). Is RESTANTE_URL right? "
            "It is the address for HTTP, not that for SMTP."
        )
    return (
        f"Cannot connect to Restante at {url} ({cause}). Start it with `restante serve` and set RESTANTE_URL to the "
        "address that it prints, or unset RESTANTE_URL to start a server for the run."
    )


def unauthorized(url: str, rejected: str) -> str:
    """The text for a wrong key."""
    return (
        f"{rejected}. {url} does not accept the API key: set RESTANTE_API_KEY to a key of this server. "
        "`restante serve` prints one at its first start."
    )


def timed_out(
    inbox: InboxData,
    filters: Filters[Any],
    seconds: float,
    explanation: Explanation | None,
    found: int,
    count: int,
    story: str,
) -> str:
    """The text for a wait that timed out. `story` is its last line."""
    address = inbox.address
    if count == 1:
        head = f"No message{filters} arrived at {address} within {seconds:g} s."
    else:
        head = f"{found} of {count} messages{filters} arrived at {address} within {seconds:g} s."
    # If Django keeps the mail, that is the cause, and the server can only say that nothing has connected.
    hints = [hint] if (hint := django_hint(address)) else []
    report = explanation.report if explanation else "The server's explanation could not be read."
    return "\n".join([head, *hints, report, story])


def link_line(link: str, label: str | None = None, ends_with_run: bool = False) -> str:
    """The line of an error that links to the page about a failed wait. The server of a run takes the page with it."""
    until = ", until the run ends" if ends_with_run else ""
    return f"What happened during this wait: {link}{f' ({label})' if label else ''}{until}"


def dashboard_line(url: str, inbox: str, label: str | None) -> str:
    """The line of an error that links to the inbox in the dashboard."""
    return f"Dashboard: {dashboard_url(url, inbox)}{f' ({label})' if label else ''}"


def dashboard_url(url: str, inbox: str) -> str:
    """The page of an inbox in the dashboard."""
    return f"{url}/inboxes/{quote(inbox, safe='')}"


def unexpected(address: str, filters: Filters[Any], seconds: float, message: MessageData) -> str:
    """The text for an unexpected message."""
    return (
        f"A message{filters} arrived at {address} within {seconds:g} s, but none was expected: "
        f'"{message.subject}" from {message.from_}'
    )


def problem(problem: Problem) -> str:
    """A problem of a message, with its line."""
    place = f" ({problem.part or 'source'}, line {problem.line})" if problem.line is not None else ""
    source = f"\n    {problem.source.strip()}" if problem.source else ""
    return f"{problem.severity} {problem.check}: {problem.detail}{place}{source}"


def numbered(number: int, word: str) -> str:
    """A number with its noun."""
    return f"{number or 'no'} {word}{'' if number == 1 else 's'}"
