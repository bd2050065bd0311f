"""Tracks which messages an inbox object has returned, so that no wait returns one of them again."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from types import EllipsisType

from ._filters import After, id_of


class Position:
    """Shared by all waits of one inbox object, including concurrent ones."""

    def __init__(self, last: str | None = None) -> None:
        """`last`: the message after which the first wait starts."""
        self.last = last
        self._returned: set[str] = set()
        self._lock = threading.Lock()

    def claim(self, message: str) -> bool:
        """Reserves a message for one wait; False if another one has it."""
        with self._lock:
            is_new = message not in self._returned
            self._returned.add(message)
            return is_new

    def knows(self, message: str) -> bool:
        """Whether a message has been returned."""
        return message in self._returned

    def release(self, messages: Sequence[str]) -> None:
        """Frees the messages that a failed wait had reserved."""
        with self._lock:
            self._returned.difference_update(messages)

    def moved(self, messages: Sequence[str], start_over: bool) -> None:
        """Records that a wait has returned these messages."""
        with self._lock:
            if start_over:
                self._returned.clear()
            self._returned.update(messages)
            self.last = messages[-1]


class Walk:
    """The position of one wait in an inbox: where it starts, and which messages it skips."""

    def __init__(self, position: Position, after: After | EllipsisType) -> None:
        self._position = position
        self.goes_on = isinstance(after, EllipsisType)
        """Whether the wait starts after the last returned message, because the caller has not set `after`."""
        self._starts_over = after is None
        self.start = position.last if isinstance(after, EllipsisType) else id_of(after)

    def takes(self, message: str) -> bool:
        """Reserves a matching message; False if an earlier or concurrent wait has returned it."""
        return not self.goes_on or self._position.claim(message)

    def would_take(self, message: str) -> bool:
        """Like `takes`, without reserving."""
        return not (self.goes_on and self._position.knows(message))

    def failed(self, messages: Sequence[str]) -> None:
        """Ends the wait with an error, which has no effect on later waits."""
        if self.goes_on:
            self._position.release(messages)

    def succeeded(self, messages: Sequence[str]) -> None:
        """Ends the wait with these messages."""
        self._position.moved(messages, self._starts_over)
