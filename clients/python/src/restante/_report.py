"""The mail in the report of a failed test, as text and as attachments."""

from __future__ import annotations

import contextlib
import html
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from . import _texts
from ._client import Inbox, Message, Restante
from ._connection import Connection
from ._django import django_hint
from .errors import NotFoundError, RestanteError, UnreachableError, WaitTimeoutError
from .model import Explanation, InboxEvent

SECONDS = 3.0
"""How long the report waits for a server that does not answer."""
MAX_MESSAGES = 10
"""Maximum number of messages of an inbox that are shown, newest first."""
MAX_EVENTS = 20
"""Maximum number of events of an inbox that the terminal shows."""
NOTHING_REMOTE = (
    '<!DOCTYPE html><meta http-equiv="Content-Security-Policy" '
    "content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\">"
)
"""Put before the page of a message, so that an opened report neither loads content nor runs scripts."""


@dataclass(frozen=True)
class Attachment:
    """A part of the report: the name, the kind (html, json, eml, txt) and the content."""

    name: str
    kind: str
    content: str


class MailReport:
    """The messages in the inboxes of a failed test."""

    def __init__(
        self, connection: Connection, addresses: Sequence[str], error: BaseException | None, hint: str = ""
    ) -> None:
        """`hint`: what may be the reason why nothing has connected."""
        self._error, self._hint = error, hint
        self._mail: list[tuple[Inbox, list[Message]]] = []
        self._events: dict[str, list[InboxEvent]] = {}
        self._lost: list[str] = []
        self._client = Restante(connection=replace(connection, timeout=SECONDS, server=None))
        for address in addresses:
            try:
                self._read(address)
            except UnreachableError as problem:
                # Each of the others would take SECONDS, too.
                self._lost.append(f"Cannot read the mail of this test: {problem}")
                break
            except RestanteError as problem:
                self._lost.append(f"Cannot read the mail of {address}: {problem}")
        self._explanation = self._explain_again()

    def _explain_again(self) -> Explanation | None:
        """The explanation of the wait that timed out, with what has arrived since."""
        timed_out = self._timed_out()
        if timed_out is None or timed_out.question is None or self._lost:
            return timed_out.explanation if timed_out else None
        session = self._client._session  # pyright: ignore[reportPrivateUsage]
        try:
            return session.run(session.core.explain(timed_out.question))
        except RestanteError:
            return timed_out.explanation

    def _read(self, address: str) -> None:
        inbox = self._client.inbox(address)
        # One more shows whether there are older ones.
        self._mail.append((inbox, inbox._newest(MAX_MESSAGES + 1)))  # pyright: ignore[reportPrivateUsage]
        # A server of an earlier version has none.
        with contextlib.suppress(NotFoundError):
            self._events[address] = inbox.events()

    def text(self) -> str:
        """The section for the terminal."""
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        if self._explanation and self._explanation.cause == "late":
            yield self._explanation.summary
        if self._hint and any(why.cause == "nothing_connected" for why in self._reasons()):
            yield self._hint
        for inbox, messages in self._mail:
            number = _texts.numbered(min(len(messages), MAX_MESSAGES), "message")
            shown = number if len(messages) <= MAX_MESSAGES else f"the last {number}"
            yield f"{inbox.address}: {shown}, {inbox.dashboard_url}"
            for message in messages[:MAX_MESSAGES]:
                yield f'  "{message.subject}" from {message.from_} at {message.received_at:%H:%M:%S.%f}'[:-3]
                yield from (f"    code {code}" for code in message.labelled_codes())
                yield from (f"    link {link}" for link in message.links)
            if not messages and not self._timed_out():
                yield from (f"  {line}" for why in self._why(inbox) for line in why.report.splitlines())
                if hint := django_hint(inbox.address):
                    yield f"  {hint}"
            yield from (f"  {line}" for line in self._timeline(inbox))
        yield from self._lost

    def _timeline(self, inbox: Inbox) -> Iterator[str]:
        """The events in short; the attachment has the commands of SMTP, too."""
        if events := self._events.get(inbox.address):
            yield "timeline:" if len(events) <= MAX_EVENTS else f"timeline, the last {MAX_EVENTS} events:"
            yield from (f"  {event.at:%H:%M:%S.%f}"[:-3] + f" {event.text}" for event in events[-MAX_EVENTS:])

    def _why(self, inbox: Inbox) -> list[Explanation]:
        try:
            return [inbox.explain()]
        except RestanteError:
            return []

    def _reasons(self) -> list[Explanation]:
        """The explanation of the wait that timed out, or of each inbox without mail."""
        if self._timed_out():
            return [self._explanation] if self._explanation else []
        return [why for inbox, messages in self._mail if not messages for why in self._why(inbox)]

    def _timed_out(self) -> WaitTimeoutError | None:
        """The timeout that made the test fail."""
        error = self._error
        while error is not None and not isinstance(error, WaitTimeoutError):
            error = error.__cause__ or error.__context__
        return error

    def attachments(self) -> Iterator[Attachment]:
        """The timeline of each inbox; each message as a page and as received, and its codes and links."""
        for address, events in self._events.items():
            yield Attachment(f"timeline of {address}", "txt", "\n".join(line for one in events for line in _event(one)))
        for message in (message for _, messages in self._mail for message in messages[:MAX_MESSAGES]):
            try:
                page, raw = message.page(), message.raw()
            except UnreachableError:
                # The report must not hide the failure of the test.
                return
            except RestanteError:
                # It was deleted meanwhile; its text is in the report.
                continue
            name = message.subject or "message without a subject"
            facts = {"subject": message.subject, "from": message.from_, "to": message.to}
            found = {**facts, "codes": message.labelled_codes(), "links": list(message.links)}
            yield Attachment(name, "html", f"{NOTHING_REMOTE}{page}")
            yield Attachment(f"{name}: codes and links", "json", json.dumps(found, indent=2, ensure_ascii=False))
            yield Attachment(f"{name}.eml", "eml", raw.decode(errors="replace"))

    def link(self) -> str | None:
        """The page about the wait that timed out, in the dashboard."""
        timed_out = self._timed_out()
        return timed_out.link if timed_out else None

    def causes(self) -> list[str]:
        """Why no message arrived, in a sentence each."""
        return [why.summary for why in self._reasons()]

    def close(self) -> None:
        """Closes the connection."""
        self._client.close()


def _event(event: InboxEvent) -> Iterator[str]:
    """An event, and below it the commands of an SMTP session."""
    yield f"{event.at.isoformat(timespec='milliseconds')} {event.text}"
    if event.failure:
        yield f"    {event.failure}"
    for exchange in event.commands or ():
        yield f"    {exchange.command or '(connected)'} → {exchange.reply or '(none)'}"


def html_extras(attachments: Sequence[Attachment]) -> list[Any]:
    """The attachments for pytest-html."""
    from pytest_html import extras  # pyright: ignore[reportMissingTypeStubs]

    made: list[Any] = []
    for part in attachments:
        if part.kind == "html":
            # Messages are untrusted: the frame blocks scripts, and is isolated from the report's page.
            style = "width: 100%; height: 30em; border: 1px solid #888; background: #fff"
            frame = f'<iframe sandbox style="{style}" srcdoc="{html.escape(part.content)}"></iframe>'
            made.append(extras.html(f"<div>{html.escape(part.name)}</div>{frame}"))
        else:
            mime = "application/json" if part.kind == "json" else "text/plain"
            extra = extras.extra(part.content, "text", part.name, mime, part.kind)  # noqa: S610 (not Django's)
            made.append(extra)
    return made


def attach_to_allure(attachments: Sequence[Attachment]) -> None:
    """The attachments for Allure."""
    import allure

    kinds = {
        "html": ("text/html", "html"),
        "json": ("application/json", "json"),
        "eml": ("message/rfc822", "eml"),
        "txt": ("text/plain", "txt"),
    }
    for part in attachments:
        mime, extension = kinds[part.kind]
        allure.attach(part.content, name=part.name, attachment_type=mime, extension=extension)
