"""What can go wrong, one type for each. No error shows the API key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .model import Explanation, MessageData


class RestanteError(Exception):
    """Every error of this package; `status` is the HTTP status, if there was an answer."""

    def __init__(self, message: str, *, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class UnreachableError(RestanteError):
    """The server cannot be reached, or cannot be started."""


class UnauthorizedError(RestanteError):
    """The API key is missing or wrong."""


class NotFoundError(RestanteError):
    """No such inbox, message or recipient, or it belongs to another key."""


class InvalidRequestError(RestanteError):
    """The server does not accept the request as it is."""


class ContentError(RestanteError, AssertionError):
    """The message does not have exactly one code, or exactly one link that matches."""


class UnexpectedMessageError(RestanteError, AssertionError):
    """A message came that a test expected not to come: `message`."""

    def __init__(self, text: str, message: MessageData) -> None:
        super().__init__(text)
        self.message = message


class WaitTimeoutError(RestanteError, AssertionError):
    """No message matched in time. The text says why, as far as the server can tell.

    `filters` are those of the wait, `waited` the seconds, `explanation` what the server knows, if it could say.
    """

    def __init__(
        self, message: str, *, filters: Mapping[str, object], waited: float, explanation: Explanation | None
    ) -> None:
        super().__init__(message)
        self.filters = filters
        self.waited = waited
        self.explanation = explanation
