"""The responses of the server as frozen dataclasses: those of `_wire`, and what they can do. Times are UTC."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import cast

from ._wire import *  # noqa: F403
from ._wire import AttachmentInfo, Code, Details, MessageFields
from .errors import ContentError

__tracebackhide__ = True  # A failed test shows its own line, not ours.

LinkMatch = str | re.Pattern[str] | Callable[[str], bool]
"""Selects a link: a text that it contains, a regular expression that is found in it, or a predicate."""
TextMatch = str | re.Pattern[str]
"""A text that is contained, without regard to case, or a regular expression that is found."""
MAX_NUMBERS_SHOWN = 5
"""Maximum number of numbers that an error quotes from the text."""


@dataclass(frozen=True)
class Smtp:
    """The SMTP server for the application under test."""

    host: str
    port: int


@dataclass(frozen=True)
class MessageData(MessageFields):
    """The parsed parts of a message."""

    _details: Details | None = field(default=None, kw_only=True, repr=False, compare=False)
    """None if they could not be read."""

    def code(self, matching: TextMatch | None = None) -> str:
        """The code that a person would type: labelled digits, or a labelled code with letters such as LZDG-RMHF.

        If there are several, `matching` chooses: a text or a regular expression for the code or its line. Otherwise
        the error contains all codes; if there is none, the text and its numbers.
        """
        codes = self._details.codes if self._details else ()
        found = [
            code for code in codes if matching is None or contains(code.code, matching) or contains(code.line, matching)
        ]
        if len(found) == 1:
            return found[0].code
        raise ContentError(self._code_problem(codes, found, matching) + self._story())

    def labelled_codes(self) -> tuple[str, ...]:
        """The labelled codes, of which `code` returns the only one."""
        return tuple(code.code for code in self._details.codes) if self._details else ()

    def field_values(self, name: str) -> list[str]:
        """The values of the header fields with this name."""
        headers = self._details.headers if self._details else ()
        return [header.value for header in headers if header.name.lower() == name.lower()]

    def link(self, match: LinkMatch | None = None, *, text: TextMatch | None = None) -> str:
        """The only matching link, or the only link. If there is not exactly one, the error lists the links.

        `text` selects it by the words that are shown for it.
        """
        texts = {link.url: link.text or "" for link in self._details.links} if self._details else {}
        found = [
            link for link in self.links if _fits(link, match) and (text is None or contains(texts.get(link, ""), text))
        ]
        if len(found) == 1:
            return found[0]
        given = [describe(match)] if match is not None else []
        given += [f"the text {describe(text)}"] if text is not None else []
        wanted = f" that match {' and '.join(given)}" if given else ""
        shown = (f"\n  {link} ({texts[link]})" if texts.get(link) else f"\n  {link}" for link in self.links)
        listed = "".join(shown) or " none"
        raise ContentError(
            f"{self._named()} has {len(found)} links{wanted}. Exactly one is needed. Its links:{listed}{self._story()}"
        )

    def _code_problem(self, codes: tuple[Code, ...], found: list[Code], matching: TextMatch | None) -> str:
        if self._details is None:
            return f"{self._named()} was deleted before its codes could be read, or the server is too old."
        listed = "".join(f"\n  {code.code} in the line: {code.line}" for code in codes)
        if len(found) > 1:
            return f"{self._named()} has {len(found)} codes. Choose one with code(matching=...):{listed}"
        if codes:
            return f"{self._named()} has no code that matches {describe(matching)}, but:{listed}"
        numbers = list(dict.fromkeys(re.findall(r"\b\d{4,10}\b", self.text)))[:MAX_NUMBERS_SHOWN]
        seen = f" {_unlabelled(numbers)}" if numbers else ""
        return f"{self._named()} has no code.{seen} Its text:\n{self.text or self.html}"

    def _story(self) -> str:
        """The line of an error that links to the inbox in the dashboard, if the server is known."""
        return ""

    def _named(self) -> str:
        return f'The message "{self.subject}" from {self.from_}'


def _unlabelled(numbers: list[str]) -> str:
    listed = ", ".join(numbers)
    return f"Its numbers are not labelled as a code: {listed}. If one is the code, read it from the text."


def _fits(link: str, match: LinkMatch | None) -> bool:
    if match is None:
        return True
    if isinstance(match, str):
        return match in link
    return bool(match.search(link)) if isinstance(match, re.Pattern) else match(link)


def contains(text: str, match: TextMatch) -> bool:
    """Whether a text matches."""
    return bool(match.search(text)) if isinstance(match, re.Pattern) else match.lower() in text.lower()


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
