"""The texts of the errors, for the person who reads a failed test."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from ._filters import Filters
from ._protocol import Reply
from .model import Explanation, MessageData


def reason(reply: Reply) -> str:
    """The server's own words; of an answer that is not the server's, its beginning."""
    try:
        return str(json.loads(reply.body)["error"])
    except (ValueError, KeyError, TypeError):
        return reply.body[:200].decode(errors="replace").strip() or "no text"


def unreachable(url: str, cause: str) -> str:
    """No answer."""
    return (
        f"No Restante server answers at {url} ({cause}). Start one with `restante serve`, "
        "or leave RESTANTE_URL unset: then one is started for the run."
    )


def unauthorized(url: str, reason: str) -> str:
    """A wrong key."""
    return f"{reason}: {url} does not accept the API key. Set RESTANTE_API_KEY to a key of this server."


def timed_out(
    address: str,
    filters: Filters[Any],
    seconds: float,
    explanation: Explanation | None,
    found: Sequence[str],
    count: int,
) -> str:
    """A wait that ended without its messages."""
    if count == 1:
        head = f"No message{filters} came to {address} within {seconds:g} s."
    else:
        named = "".join(f' "{subject}"' for subject in found)
        head = f"{len(found)} of {count} messages{filters} came to {address} within {seconds:g} s.{named}"
    return "\n".join([head, *explained(explanation)])


def explained(explanation: Explanation | None, came: bool = True) -> Iterator[str]:
    """The lines of an explanation, with or without the messages that came."""
    if explanation is None:
        yield "The server could not say why."
        return
    yield explanation.summary
    for message in explanation.messages.latest if came else ():
        missed = f" (not: {', '.join(message.missed_by)})" if message.missed_by else ""
        yield f'  came: "{message.subject}" from {message.from_}{missed}'
    for refused in explanation.refused:
        yield f"  refused: {refused.recipient or 'unknown recipient'} from {refused.sender or '<>'}: {refused.reply}"
    for similar in explanation.similar:
        yield f"  similar address: {similar.address} got {counted(similar.messages, 'message')}"


def unexpected(address: str, filters: Filters[Any], seconds: float, message: MessageData) -> str:
    """A message that should not have come."""
    return (
        f"A message{filters} came to {address} within {seconds:g} s, but none was expected: "
        f'"{message.subject}" from {message.from_}'
    )


def counted(number: int, word: str) -> str:
    """A number with its word."""
    return f"{number or 'no'} {word}{'' if number == 1 else 's'}"
