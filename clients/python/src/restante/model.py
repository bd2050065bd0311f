"""The responses of the server as frozen dataclasses: those of `_wire`, and what they can do. Times are UTC."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

from ._wire import *  # noqa: F403
from ._wire import AttachmentInfo, MessageFields
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
class MessageData(MessageFields):
    """The parsed parts of a message."""

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
class Attachment(AttachmentInfo):
    """An attachment with its decoded bytes."""

    content: bytes
