"""The errors, one type for each cause. No error contains the API key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._protocol import Request
    from .model import Explanation, MessageData


class RestanteError(Exception):
    """The base class of all errors; `status` is the HTTP status, if there was a response."""

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
    """The server rejected the request as invalid."""


class ContentError(RestanteError, AssertionError):
    """The message does not have exactly one code, or exactly one link that matches."""


class UnexpectedMessageError(RestanteError, AssertionError):
    """A message arrived although none was expected: `message`."""

    def __init__(self, text: str, message: MessageData) -> None:
        super().__init__(text)
        self.message = message


class WaitTimeoutError(RestanteError, AssertionError):
    """No message matched in time. The text contains the server's explanation.

    `filters` are those of the wait, `waited` the seconds, `explanation` the server's explanation, if it could be read,
    `link` the page about this wait in the dashboard: why it failed, and what happened meanwhile. `question` is the
    request for the explanation, to which the answer is another one when the message has arrived.
    """

    def __init__(
        self,
        message: str,
        *,
        filters: Mapping[str, object],
        waited: float,
        explanation: Explanation | None,
        link: str | None = None,
        question: Request | None = None,
    ) -> None:
        super().__init__(message)
        self.question = question
        self.filters = filters
        self.waited = waited
        self.explanation = explanation
        self.link = link
