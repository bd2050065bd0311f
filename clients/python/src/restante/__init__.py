"""Temporary inboxes for end-to-end tests."""

from ._async_client import AsyncInbox, AsyncMessage, AsyncRestante
from ._client import Inbox, Message, Restante
from ._totp import totp
from .errors import (
    ContentError,
    InvalidRequestError,
    NotFoundError,
    RestanteError,
    UnauthorizedError,
    UnexpectedMessageError,
    UnreachableError,
    WaitTimeoutError,
)
from .model import Attachment, Details, Explanation, Fault, FaultState, MessageChecks, Problem
from .server import Server

__all__ = [
    "AsyncInbox",
    "AsyncMessage",
    "AsyncRestante",
    "Attachment",
    "ContentError",
    "Details",
    "Explanation",
    "Fault",
    "FaultState",
    "Inbox",
    "InvalidRequestError",
    "Message",
    "MessageChecks",
    "NotFoundError",
    "Problem",
    "Restante",
    "RestanteError",
    "Server",
    "UnauthorizedError",
    "UnexpectedMessageError",
    "UnreachableError",
    "WaitTimeoutError",
    "totp",
]
