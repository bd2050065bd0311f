"""Waits for messages, without I/O: handles the server's limits, a restart, and filters that only the client applies."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Sequence
from functools import partial
from typing import Generic

from . import _texts
from ._core import Core, Read, inbox_path, message_json, question_about
from ._filters import AfterOrGoOn, Filters, M, checked_seconds
from ._position import Position, Walk
from ._protocol import REQUEST_SECONDS, Reply, Request, Steps
from .errors import NotFoundError, RestanteError, UnexpectedMessageError, WaitTimeoutError
from .model import Explanation, InboxData

__tracebackhide__ = True  # A failed test shows its own line, not ours.

MAX_REQUEST_SECONDS = 120.0
"""Maximum length of a wait that the server allows in one request."""
HELP = re.compile(r'<(https?:[^>]+)>;\s*rel="?help"?')
"""The page about a failed wait, in the header `Link`."""


class Wait(Generic[M]):
    """One wait on an inbox, for one message or for several."""

    def __init__(
        self,
        core: Core,
        inbox: InboxData,
        position: Position,
        filters: Filters[M],
        after: AfterOrGoOn,
        seconds: float,
        read: Read[M],
        label: str | None = None,
    ) -> None:
        self._core = core
        self._label = label
        self._inbox = inbox
        self._walk = Walk(position, after)
        self._filters = filters
        self._seconds = checked_seconds(seconds, "timeout")
        self._read = read
        self._started = core.clock()
        self._expects_none = False
        self._link: str | None = None
        self._name = ""
        """The name of the search for the latest message, the same in all of its requests."""

    def messages(self, count: int) -> Steps[list[M]]:
        """The next `count` messages that match, oldest first; an error with the reason if some do not arrive."""
        found: list[M] = []
        try:
            while len(found) < count:
                message = yield from self._next(found[-1].id if found else self._walk.start)
                while message is not None and not self._walk.takes(message.id):
                    message = yield from self._next(message.id)
                if message is None:
                    raise (yield from self._timed_out(found, count))
                found.append(message)
        except BaseException:
            self._walk.failed([message.id for message in found])
            raise
        if found:
            self._walk.succeeded([message.id for message in found])
        return found

    def nothing(self) -> Steps[None]:
        """Returns if no matching message arrives."""
        self._expects_none = True
        message = yield from self._next(self._walk.start)
        while message is not None and not self._walk.would_take(message.id):
            message = yield from self._next(message.id)
        if message is not None:
            text = _texts.unexpected(self._inbox.address, self._filters, self._seconds, message)
            raise UnexpectedMessageError(f"{text}\n{self._story()}", message)

    def _next(self, after: str | None) -> Steps[M | None]:
        """The oldest message that matches, or None after a last check at the deadline."""
        self._name = os.urandom(16).hex()
        while True:
            ask = partial(self._request, after)
            request, outcome, _ = yield from self._core.repeated(ask, self._left())
            is_ours = isinstance(outcome, Reply) and _texts.said(outcome) is not None
            match outcome:
                case Reply(status=200):
                    data = self._core.read(request, outcome, message_json)
                    after = str(data["id"])
                    missed = self._filters.missed_texts(data["subject"], data["from"], data["text"])
                    message = None if missed else (yield from self._core.with_details(data, self._read))
                    if message and not self._filters.missed_by(message):
                        return message
                case Reply(status=408) if is_ours:
                    self._note_page(outcome)
                    if self._left() == 0:
                        return None
                # All waits of the key are in use. The server checks for a message before it counts.
                case Reply(status=429):
                    return None
                case Reply(status=404) if is_ours:
                    raise (yield from self._ended(outcome))
                case _:
                    # No other success is an answer to a wait.
                    raise self._core.foreign(request, self._core.checked(request, outcome))

    def _left(self) -> float:
        return max(0.0, self._started + self._seconds - self._core.clock())

    def _request(self, after: str | None) -> Request:
        seconds = min(self._left(), MAX_REQUEST_SECONDS)
        # For zero, the server would return 404, as for an inbox that has ended.
        milliseconds = max(1, math.ceil(seconds * 1000))
        query = {**self._filters.query(after), "timeout": str(milliseconds)}
        path = f"{inbox_path(self._inbox.id)}/messages/wait"
        headers = self._filters.headers(self._name, self._expects_none)
        return Request("GET", path, query, headers=headers, seconds=seconds + REQUEST_SECONDS, is_wait=True)

    def _note_page(self, reply: Reply) -> None:
        if found := HELP.search(reply.headers.get("link", "")):
            self._link = found[1]

    def _ended(self, reply: Reply) -> Steps[NotFoundError]:
        """The error for an inbox that has ended; the server's explanation has the time and the reason."""
        explanation = yield from self._explanation(question_about(self._inbox.id, self._filters, None))
        known = explanation.summary if explanation and explanation.ended else None
        why = known or f"{_texts.reason(reply)}. The inbox was {self._inbox.address}."
        return NotFoundError(why, status=reply.status)

    def _timed_out(self, found: Sequence[M], count: int) -> Steps[WaitTimeoutError]:
        after = found[-1].id if found else self._walk.start
        headers = self._filters.headers(self._name, expects_none=False)
        question = question_about(self._inbox.id, self._filters, after, headers)
        explanation = yield from self._explanation(question)
        last = _texts.link_line(self._link, self._label, self._core.log is not None) if self._link else self._story()
        text = _texts.timed_out(self._inbox, self._filters, self._seconds, explanation, len(found), count, last)
        given = self._filters.as_given(self._walk.start)
        waited = self._core.clock() - self._started
        return WaitTimeoutError(
            text, filters=given, waited=waited, explanation=explanation, link=self._link, question=question
        )

    def _story(self) -> str:
        return _texts.dashboard_line(self._core.url, self._inbox.id, self._label)

    def _explanation(self, question: Request) -> Steps[Explanation | None]:
        """The server's explanation; None if it cannot be read, so that the original error is still raised."""
        try:
            return (yield from self._core.explain(question))
        except RestanteError:
            return None
