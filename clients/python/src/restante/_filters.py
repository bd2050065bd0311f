"""The filters of a caller: the server applies texts and `has` from the query; the others are applied here."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import EllipsisType
from typing import Generic, Literal, TypeVar
from urllib.parse import quote

from .errors import RestanteError
from .model import MessageData, contains, describe

M = TypeVar("M", bound=MessageData)
Text = str | re.Pattern[str]
"""A text that is contained (case-insensitive), or a regular expression that is found."""
After = MessageData | str | None
"""A message or its id: only later ones. None: starting with the first one."""
AfterOrGoOn = After | EllipsisType
"""Like After; the default `...` continues after the last message that the inbox object returned."""
Has = Literal["code", "link", "otp"]
"""A labelled code, a link, or an `otp`, which may be a number without a label."""
CONTENTS = {"code": "a code", "link": "a link", "otp": "a one-time code"}
"""What `has` asks for, in words."""
SHOWN = 160
"""Maximum number of characters of the filters in a header: each may take twelve bytes."""


@dataclass(frozen=True)
class Filters(Generic[M]):
    """The filters of one call, without `after`, which changes during a wait."""

    subject: Text | None = None
    from_: Text | None = None
    to: Text | None = None
    text: Text | None = None
    header: Mapping[str, Text] | None = None
    has: Has | Sequence[Has] | None = None
    where: Callable[[M], bool] | None = None

    def query(self, after: str | None) -> dict[str, str]:
        """The filters that the server applies."""
        has = self.has if isinstance(self.has, str) or self.has is None else ",".join(self.has)
        field = self._server_field()
        header = ":".join(field) if field else None
        texts = {"subject": self.subject, "from": self.from_, "to": self.to, "text": self.text}
        parts = {**texts, "header": header, "has": has, "after": after}
        return {name: value for name, value in parts.items() if isinstance(value, str) and value}

    def missed_by(self, message: M) -> tuple[str, ...]:
        """The filters applied by the client that exclude a message."""
        missed = self.missed_texts(message.subject, message.from_, message.text)
        recipients = [*message.field_values("to"), *message.field_values("cc")]
        if isinstance(self.to, re.Pattern) and not any(contains(value, self.to) for value in recipients):
            missed += ("to",)
        sent = self._server_field()
        others = {name: want for name, want in (self.header or {}).items() if not sent or name != sent[0]}
        if not all(any(contains(value, want) for value in message.field_values(name)) for name, want in others.items()):
            missed += ("header",)
        if self.where is not None and not missed and not self.where(message):
            return ("where",)
        return missed

    def missed_texts(self, subject: str, sender: str, text: str) -> tuple[str, ...]:
        """The regular expressions that exclude a message, for which its details are not needed."""
        patterns = (("subject", self.subject, subject), ("from", self.from_, sender), ("text", self.text, text))
        return tuple(name for name, want, has in patterns if isinstance(want, re.Pattern) and not want.search(has))

    def _server_field(self) -> tuple[str, str] | None:
        """The header field that the server compares: it takes one, and only a text."""
        return next(((name, want) for name, want in (self.header or {}).items() if isinstance(want, str)), None)

    def headers(self, name: str, expects_none: bool) -> dict[str, str]:
        """The name of a wait, the filters that only the client applies, and whether it expects nothing."""
        sent = self._server_field()
        texts = {"subject": self.subject, "from": self.from_, "to": self.to, "text": self.text}
        parts = [f"{name} {describe(want)}" for name, want in texts.items() if isinstance(want, re.Pattern)]
        parts += [
            f"header {name} {describe(want)}" for name, want in (self.header or {}).items() if (name, want) != sent
        ]
        parts += [f"where {getattr(self.where, '__qualname__', 'function')}"] if self.where else []
        shown = quote(", ".join(parts)[:SHOWN], errors="replace")
        named = {
            "X-Restante-Wait": name,
            "X-Restante-Filters": shown,
            "X-Restante-Expects": "none" if expects_none else "",
        }
        return {name: value for name, value in named.items() if value}

    def as_given(self, after: str | None) -> Mapping[str, object]:
        """The filters that are set, by their names in the API."""
        texts = {"subject": self.subject, "from": self.from_, "to": self.to, "text": self.text}
        parts = {**texts, "header": self.header, "has": self.has, "after": after, "where": self.where}
        return {name: value for name, value in parts.items() if value is not None}

    def __str__(self) -> str:
        """The filters as a text that follows the word "message"."""
        given = self.as_given(None).items()
        parts = [f"{name} {describe(value)}" for name, value in given if name not in ("header", "has")]
        parts += [f"header {name} {describe(value)}" for name, value in (self.header or {}).items()]
        parts += [CONTENTS.get(one, one) for one in ([self.has] if isinstance(self.has, str) else self.has or ())]
        return "".join(f"{' and' if index else ' with'} {part}" for index, part in enumerate(parts))


def checked_seconds(value: object, name: str) -> float:
    """A time that a caller gave, also as text: a number of seconds."""
    try:
        seconds = float(value)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    except (TypeError, ValueError):
        seconds = -1.0
    if not seconds >= 0:
        raise RestanteError(f"{name} must be a number of seconds, not {value!r}")
    return seconds


def id_of(after: After) -> str | None:
    """The cursor for the server."""
    return after.id if isinstance(after, MessageData) else after
