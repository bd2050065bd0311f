"""The interface between the core and I/O: the core yields effects, and a driver sends the outcomes back."""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

T = TypeVar("T")

REQUEST_SECONDS = 10.0
"""How long a response may take, in addition to the time that the server itself waits."""


@dataclass(frozen=True)
class Request:
    """A request to send. `repeatable`: it may safely be sent twice."""

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict[str, str])
    body: Mapping[str, Any] | None = None
    seconds: float = REQUEST_SECONDS
    repeatable: bool = True
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    is_wait: bool = False
    """Whether the server may keep it open, so that a thread that sends it is blocked for long."""


@dataclass(frozen=True)
class Pause:
    """A pause."""

    seconds: float


@dataclass(frozen=True)
class Reply:
    """A response of the server. The names of the headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        """The body, parsed."""
        return json.loads(self.body)


@dataclass(frozen=True)
class Broken:
    """There is no response. `sent` is False if the server definitely did not receive the request.

    `is_connected`: the connection was accepted, and what came over it is not HTTP.
    """

    cause: str
    sent: bool
    is_connected: bool = False


Effect = Request | Pause
Outcome = Reply | Broken | None
Steps = Generator[Effect, Outcome, T]
"""One operation: yields effects, receives outcomes (None for a pause), and returns a T."""
