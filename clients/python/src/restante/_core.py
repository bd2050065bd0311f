"""All operations of the client, without I/O: the requests, and when they are repeated.

The methods are generators (see `_protocol`). `Restante` and `AsyncRestante` run the same ones.
"""

from __future__ import annotations

import contextlib
import random
import re
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar
from urllib.parse import quote

from . import _texts
from ._decode import decode, encode
from ._filters import Filters, M
from ._protocol import Broken, Outcome, Pause, Reply, Request, Steps
from .errors import ContentError, InvalidRequestError, NotFoundError, RestanteError, UnauthorizedError, UnreachableError
from .model import (
    Attachment,
    Details,
    Explanation,
    Fault,
    FaultState,
    Health,
    InboxData,
    InboxEvent,
    MessageChecks,
    MessageFields,
    Sent,
    describe,
)

__tracebackhide__ = True  # A failed test shows its own line, not ours.

MAX_RETRY_SECONDS = 10.0
"""How long a request that is not a wait is retried."""
MIN_PAUSE_SECONDS, MAX_PAUSE_SECONDS = 0.05, 1.0
MAX_LABEL_CHARACTERS = 200
"""The server keeps no more of a label."""
OF_PROXIES = (413, 429, 502, 503, 504)
"""Statuses that a proxy in front of the server gives with its own text."""
FULL = "recipient inbox is full"
"""The error of 429 that does not pass."""
R = TypeVar("R")
Read = Callable[[Mapping[str, Any], Details | None], M]
"""Makes a message of its JSON and its details."""


class Core:
    """The part that both clients share: the URL for error texts, and the time limit."""

    def __init__(
        self, url: str, timeout: float, clock: Callable[[], float] = time.monotonic, log: str | None = None
    ) -> None:
        """`log`: the log file of the server, if it was started for this run."""
        self.url = url
        self.log = log
        self.timeout = timeout
        self.clock = clock

    def repeated(self, request: Callable[[], Request], seconds: float) -> Steps[tuple[Request, Outcome, bool]]:
        """Sends a request, and repeats it until there is a final response or the time is up.

        Returns the last one with its outcome, and whether it was not the first.
        """
        started = self.clock()
        deadline, is_repeated = started + seconds, False
        while True:
            sent = request()
            outcome = yield sent
            now = self.clock()
            pause = pause_before_repeat(sent, outcome, now - started)
            if pause is None or now >= deadline:
                return sent, outcome, is_repeated
            yield Pause(min(pause, deadline - now))
            is_repeated = True

    def call(self, request: Request) -> Steps[Reply]:
        """Sends a request that is not a wait."""
        seconds = min(MAX_RETRY_SECONDS, self.timeout)
        _, outcome, is_repeated = yield from self.repeated(lambda: request, seconds)
        if is_repeated and request.method == "DELETE" and isinstance(outcome, Reply) and outcome.status == 404:
            return outcome  # An earlier attempt has deleted it.
        return self.checked(request, outcome)

    def checked(self, request: Request, outcome: Outcome) -> Reply:
        """Returns a successful response; otherwise raises the error for it."""
        if not isinstance(outcome, Reply):
            cause = outcome.cause if outcome else "no answer"
            if self.log:
                raise UnreachableError(_texts.ended(self.url, cause, self.log))
            is_connected = isinstance(outcome, Broken) and outcome.is_connected
            raise UnreachableError(_texts.unreachable(self.url, cause, is_connected))
        if 200 <= outcome.status < 300:
            return outcome
        if _texts.said(outcome) is None and outcome.status not in OF_PROXIES:
            raise self.foreign(request, outcome)
        text = _texts.rejected(request, outcome)
        match outcome.status:
            case 401:
                raise UnauthorizedError(_texts.unauthorized(self.url, text), status=401)
            case 404:
                raise NotFoundError(text, status=404)
            case 400 | 413:
                raise InvalidRequestError(text, status=outcome.status)
            case status:
                text = f"{self.url} answered with {status}: {_texts.reason(outcome)}"
                raise RestanteError(text, status=status)

    def foreign(self, request: Request, reply: Reply) -> UnreachableError:
        """The error if another server answers."""
        text = _texts.foreign(self.url, f"{request.method} {request.path}", reply)
        return UnreachableError(text, status=reply.status)

    def read(self, request: Request, reply: Reply, made: Callable[[Any], R]) -> R:
        """What is made of the JSON of a response; another server has other JSON, or none."""
        try:
            return made(reply.json())
        except (ValueError, TypeError, AttributeError, LookupError):
            raise self.foreign(request, reply) from None

    def fetch(self, request: Request, made: Callable[[Any], R]) -> Steps[R]:
        """Sends a request, and returns what is made of the JSON of its response."""
        reply = yield from self.call(request)
        return self.read(request, reply, made)

    def health(self) -> Steps[Health]:
        """Returns if the server answers."""
        return (yield from self.fetch(Request("GET", "/v1/health"), partial(decode, Health)))

    def create_inbox(self, label: str | None = None) -> Steps[InboxData]:
        """Creates an inbox, with a label that the dashboard shows."""
        # If it was created twice, nobody uses the other one, and it expires.
        request = Request("POST", "/v1/inboxes", headers=label_header(label))
        return (yield from self.fetch(request, partial(decode, InboxData)))

    def ensure_inbox(self, address: str, label: str | None = None) -> Steps[tuple[InboxData, str | None]]:
        """The inbox with an address, which is created if there is none; and the id of its newest message."""
        request = Request("PUT", inbox_path(address), headers=label_header(label))
        inbox = yield from self.fetch(request, partial(decode, InboxData))
        newest = Request("GET", f"{inbox_path(inbox.id)}/messages", {"limit": "1"})
        messages = yield from self.fetch(newest, lambda data: [message["id"] for message in data["messages"]])
        return inbox, next(iter(messages), None)

    def find_inbox(self, id_or_address: str) -> Steps[InboxData]:
        """Finds an inbox by its id or its address."""
        if "@" in id_or_address:
            request = Request("GET", "/v1/inboxes", {"address": id_or_address})
        else:
            request = Request("GET", inbox_path(id_or_address))
        return (yield from self.fetch(request, partial(decode, InboxData)))

    def delete(self, path: str) -> Steps[None]:
        """Deletes an inbox or a message."""
        yield from self.call(Request("DELETE", path))

    def send(self, inbox: str, body: Mapping[str, Any]) -> Steps[Sent]:
        """Sends a message from an inbox."""
        given = {name: value for name, value in body.items() if value is not None}
        request = Request("POST", f"{inbox_path(inbox)}/messages", body=given, repeatable=False)
        return (yield from self.fetch(request, partial(decode, Sent)))

    def reply(self, message: str, text: str, html: str | None) -> Steps[Sent]:
        """Replies to a message from its inbox, like a mail client."""
        details = yield from self.details(message)
        # A mailbox of a header field may be only a name.
        addresses = [mailbox.address for mailbox in (*details.reply_to, *details.from_) if mailbox.address]
        subject = next((header.value for header in details.headers if header.name.lower() == "subject"), "")
        body = {
            "to": next(iter(addresses), details.envelope.from_),
            "subject": subject if subject.lower().startswith("re:") else f"Re: {subject}",
            "text": text,
            "html": html,
            "in_reply_to": message,
        }
        return (yield from self.send(details.inbox_id, body))

    def checks(self, message: str) -> Steps[MessageChecks]:
        """The problems of a message."""
        return (
            yield from self.fetch(Request("GET", f"{message_path(message)}/checks"), partial(decode, MessageChecks))
        )

    def check(self, message: str, ignore: Sequence[str], warnings: bool, named: str, story: str) -> Steps[None]:
        """Raises an error with the problems of a message. `named`: the message in the error, `story` its end."""
        checks = yield from self.checks(message)
        found = [one for one in checks.problems if one.check not in ignore and (warnings or one.severity == "error")]
        if found:
            listed = "".join(f"\n  {_texts.problem(one)}" for one in found)
            raise ContentError(f"{named} has {_texts.numbered(len(found), 'problem')}:{listed}{story}")

    def forward(self, message: str, to: str) -> Steps[Sent]:
        """Forwards a message as it was received from its inbox."""
        request = Request("POST", f"{message_path(message)}/forward", body={"to": to}, repeatable=False)
        return (yield from self.fetch(request, partial(decode, Sent)))

    def faults(self, inbox: str, faults: Sequence[Fault | Mapping[str, Any]] | None = None) -> Steps[list[FaultState]]:
        """The faults of an inbox, which are first replaced if new ones are given."""
        path = f"{inbox_path(inbox)}/faults"
        if faults is None:
            request = Request("GET", path)
        else:
            given = [encode(fault) if isinstance(fault, Fault) else dict(fault) for fault in faults]
            request = Request("PUT", path, body={"faults": given})
        return (yield from self.fetch(request, lambda data: [decode(FaultState, fault) for fault in data["faults"]]))

    def find_message(self, message: str, read: Read[M]) -> Steps[M]:
        """A message by its id."""
        data = yield from self.fetch(Request("GET", message_path(message)), message_json)
        return (yield from self.with_details(data, read))

    def with_details(self, data: Mapping[str, Any], read: Read[M]) -> Steps[M]:
        """A message with its details, which `code` and the texts of links need."""
        details: Details | None = None
        # It was deleted in the meantime. Any other failure must not look like a message that does not match.
        with contextlib.suppress(NotFoundError):
            details = yield from self.details(data["id"])
        return read(data, details)

    def newest(self, inbox: str, most: int, read: Read[M]) -> Steps[list[M]]:
        """The newest messages, newest first: at most this many."""
        return (yield from self._messages(inbox, Filters(), {"limit": str(most)}, read))

    def messages(self, inbox: str, filters: Filters[M], after: str | None, read: Read[M]) -> Steps[list[M]]:
        """The messages that match, newest first."""
        return (yield from self._messages(inbox, filters, filters.query(after), read))

    def _messages(self, inbox: str, filters: Filters[M], query: dict[str, str], read: Read[M]) -> Steps[list[M]]:
        request = Request("GET", f"{inbox_path(inbox)}/messages", query)
        listed = yield from self.fetch(request, lambda data: [message_json(message) for message in data["messages"]])
        messages: list[M] = []
        for data in listed:
            if filters.missed_texts(data["subject"], data["from"], data["text"]):
                continue
            message = yield from self.with_details(data, read)
            if not filters.missed_by(message):
                messages.append(message)
        return messages

    def details(self, message: str) -> Steps[Details]:
        """All details of a message."""
        request = Request("GET", f"{message_path(message)}/details")
        return (yield from self.fetch(request, partial(decode, Details)))

    def attachments(self, message: str) -> Steps[list[Attachment]]:
        """The attachments of a message, with their bytes."""
        details = yield from self.details(message)
        attachments: list[Attachment] = []
        for info in details.attachments:
            content = yield from self.content(message, f"attachments/{info.index}")
            attachments.append(Attachment(**vars(info), content=content))
        return attachments

    def attachment(self, message: str, name: str | re.Pattern[str] | None, named: str, story: str) -> Steps[Attachment]:
        """The only attachment whose name matches, with its bytes. `named`: the message in an error, `story` its end."""
        details = yield from self.details(message)
        pattern = _named_like(name) if isinstance(name, str) else name
        found = [one for one in details.attachments if pattern is None or pattern.search(one.filename or "")]
        if len(found) == 1:
            content = yield from self.content(message, f"attachments/{found[0].index}")
            return Attachment(**vars(found[0]), content=content)
        wanted = "" if name is None else f" that match {describe(name)}"
        listed = "".join(f"\n  {one.filename or 'without a name'} ({one.content_type})" for one in details.attachments)
        count = f"{named} has {len(found)} attachments{wanted}. Exactly one is needed."
        raise ContentError(f"{count} Its attachments:{listed or ' none'}{story}")

    def content(self, message: str, part: str) -> Steps[bytes]:
        """The bytes of `raw`, `page` or `attachments/N`."""
        reply = yield from self.call(Request("GET", f"{message_path(message)}/{part}"))
        return reply.body

    def explain(self, question: Request) -> Steps[Explanation]:
        """The answer to `question_about`."""
        return (yield from self.fetch(question, partial(decode, Explanation)))

    def events(self, inbox: str) -> Steps[list[InboxEvent]]:
        """What happened to an inbox, oldest first."""
        request = Request("GET", f"{inbox_path(inbox)}/events")
        return (yield from self.fetch(request, lambda data: [decode(InboxEvent, event) for event in data["events"]]))


def question_about(
    inbox: str, filters: Filters[Any], after: str | None, headers: Mapping[str, str] | None = None
) -> Request:
    """The request for the reason why no message arrived that matches the filters which the server applies."""
    return Request("GET", f"{inbox_path(inbox)}/explain", filters.query(after), headers=headers or {})


def message_json(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """The JSON of a message; another server has other fields."""
    decode(MessageFields, data)
    return data


def pause_before_repeat(request: Request, outcome: Outcome, waited: float) -> float | None:
    """How long to pause before repeating a request; None if it is not repeated."""
    match outcome:
        case Reply(status=429) if _texts.said(outcome) != FULL:
            return growing_pause(waited)
        case Reply(status=503, headers=headers) if request.repeatable:
            after = headers.get("retry-after", "")
            return float(after) if after.isdecimal() else growing_pause(waited)
        case Broken(sent=sent) if request.repeatable or not sent:
            return growing_pause(waited)
        case _:
            return None


def growing_pause(waited: float) -> float:
    """A tenth of the time waited so far, within bounds. Jitter spreads the retries of many clients."""
    return min(max(waited / 10, MIN_PAUSE_SECONDS), MAX_PAUSE_SECONDS) * random.uniform(0.5, 1.0)  # noqa: S311


def _named_like(name: str) -> re.Pattern[str]:
    """The pattern of a whole file name, in which `*` stands for any characters."""
    parts = ".*".join(re.escape(part) for part in name.split("*"))
    return re.compile(rf"\A{parts}\Z", re.IGNORECASE | re.DOTALL)


def label_header(label: str | None) -> dict[str, str]:
    """The header with a label that the dashboard shows."""
    # A header has only ASCII.
    return {"X-Restante-Label": quote(label[:MAX_LABEL_CHARACTERS], errors="replace")} if label else {}


def inbox_path(identifier: str) -> str:
    """The path of an inbox."""
    return f"/v1/inboxes/{quote(identifier, safe='')}"


def message_path(identifier: str) -> str:
    """The path of a message."""
    return f"/v1/messages/{quote(identifier, safe='')}"
