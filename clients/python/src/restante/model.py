"""The responses of the server as frozen dataclasses. Times are UTC."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, cast

from .errors import ContentError

__tracebackhide__ = True  # A failed test shows its own line, not ours.

LinkMatch = str | re.Pattern[str] | Callable[[str], bool]
"""Selects a link: a text that it contains, a regular expression that is found in it, or a predicate."""


@dataclass(frozen=True)
class Smtp:
    """The SMTP server for the application under test."""

    host: str
    port: int


@dataclass(frozen=True)
class Health:
    """The server answers."""

    status: str


@dataclass(frozen=True)
class InboxData:
    """An inbox as returned by the server."""

    id: str
    address: str
    kind: Literal["temporary", "permanent"]
    created_at: datetime
    expires_at: datetime | None


@dataclass(frozen=True)
class MessageData:
    """The parsed parts of a message."""

    id: str
    inbox_id: str
    from_: str
    to: str
    subject: str
    text: str
    html: str
    links: tuple[str, ...]
    otp: str
    received_at: datetime

    def code(self) -> str:
        """The one-time code. If there is none, the error contains the text."""
        if not self.otp:
            raise ContentError(f"{self._named()} has no one-time code. Its text:\n{self.text or self.html}")
        return self.otp

    def link(self, match: LinkMatch | None = None) -> str:
        """The only matching link, or the only link. If there is not exactly one, the error lists the links."""
        found = [link for link in self.links if _fits(link, match)]
        if len(found) == 1:
            return found[0]
        wanted = "" if match is None else f" that match {describe(match)}"
        listed = "".join(f"\n  {link}" for link in self.links) or " none"
        raise ContentError(f"{self._named()} has {len(found)} links{wanted}, not one. Its links:{listed}")

    def _named(self) -> str:
        return f'The message "{self.subject}" from {self.from_}'


def _fits(link: str, match: LinkMatch | None) -> bool:
    if match is None:
        return True
    if isinstance(match, str):
        return match in link
    return bool(match.search(link)) if isinstance(match, re.Pattern) else match(link)


def describe(match: object) -> str:
    """A filter as text."""
    if isinstance(match, re.Pattern):
        pattern = cast("re.Pattern[str]", match)
        return f"/{pattern.pattern}/{'i' if pattern.flags & re.IGNORECASE else ''}"
    return f'"{match}"' if isinstance(match, str) else getattr(match, "__name__", repr(match))


@dataclass(frozen=True)
class Mailbox:
    """A display name and an address."""

    name: str | None
    address: str


@dataclass(frozen=True)
class Header:
    """A header field, decoded and unfolded."""

    name: str
    value: str


@dataclass(frozen=True)
class Envelope:
    """How the message arrived. For a message that the service composed, the unknown fields are None."""

    from_: str
    to: str
    helo: str | None
    client: str | None
    tls: str | None
    authenticated: bool | None


@dataclass(frozen=True)
class Otp:
    """The one-time code, the rule that recognised it, and its line."""

    code: str
    rule: str
    line: str


@dataclass(frozen=True)
class Link:
    """A link with its text."""

    url: str
    text: str | None
    source: Literal["html", "text"]


@dataclass(frozen=True)
class AttachmentInfo:
    """An attachment without its bytes."""

    index: int
    filename: str | None
    content_type: str
    size: int
    content_id: str | None
    inline: bool


@dataclass(frozen=True)
class Attachment(AttachmentInfo):
    """An attachment with its decoded bytes."""

    content: bytes


@dataclass(frozen=True)
class ListUnsubscribe:
    """The List-Unsubscribe header."""

    urls: tuple[str, ...]
    one_click: bool


@dataclass(frozen=True)
class Details:
    """All details of a message."""

    id: str
    inbox_id: str
    size: int
    received_at: datetime
    envelope: Envelope
    headers: tuple[Header, ...]
    from_: tuple[Mailbox, ...]
    to: tuple[Mailbox, ...]
    cc: tuple[Mailbox, ...]
    reply_to: tuple[Mailbox, ...]
    message_id: str | None
    in_reply_to: str | None
    date: datetime | None
    otp: Otp | None
    links: tuple[Link, ...]
    attachments: tuple[AttachmentInfo, ...]
    list_unsubscribe: ListUnsubscribe | None


@dataclass(frozen=True)
class Sent:
    """An accepted send request."""

    id: str
    status: str


@dataclass(frozen=True)
class Fault:
    """An injected fault: the server applies it `times` times to mail for this inbox."""

    at: Literal["rcpt", "data"]
    do: Literal["defer", "reject", "disconnect", "delay", "bounce", "duplicate"]
    times: int = 1
    reply: str | None = None
    seconds: int | None = None
    store: bool | None = None


@dataclass(frozen=True)
class FaultState(Fault):
    """A fault, with the number of uses left and the times of its uses."""

    left: int = 0
    used: int = 0
    uses: tuple[datetime, ...] = ()


@dataclass(frozen=True)
class Ended:
    """The end of an inbox."""

    reason: Literal["expired", "deleted"]
    at: datetime


@dataclass(frozen=True)
class Arrived:
    """A received message, with the filters that exclude it."""

    id: str
    from_: str
    subject: str
    received_at: datetime
    missed_by: tuple[str, ...]


@dataclass(frozen=True)
class ArrivedMessages:
    """How many messages are in the inbox, and the ten newest."""

    count: int
    latest: tuple[Arrived, ...]


@dataclass(frozen=True)
class Refused:
    """Mail that was rejected over SMTP, with the reply."""

    at: datetime
    client: str
    sender: str
    recipient: str
    reply: str


@dataclass(frozen=True)
class Similar:
    """An inbox with a similar address that received mail."""

    address: str
    messages: int
    last_received_at: datetime


@dataclass(frozen=True)
class SmtpUse:
    """The use of SMTP at the whole installation."""

    connections_open: int
    last_connection_at: datetime | None
    last_message_at: datetime | None


@dataclass(frozen=True)
class Explanation:
    """The explanation of a missing message; `summary` is one sentence for people."""

    summary: str
    inbox: InboxData | None
    ended: Ended | None
    messages: ArrivedMessages
    refused: tuple[Refused, ...]
    similar: tuple[Similar, ...]
    smtp: SmtpUse
