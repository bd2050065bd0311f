# generate_client.py has written this file from _async_client.py: edit that one.
"""The client for synchronous code: `Restante`, its inboxes and their messages. For async code, see `_async_client`."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from types import TracebackType
from typing import Any

from ._connection import Connection, connect
from ._core import Core, inbox_path, message_path, question_about
from ._decode import fields_of
from ._filters import After, AfterOrGoOn, Filters, Has, Text, checked_seconds, id_of
from ._position import Position
from ._protocol import Steps, T
from ._texts import dashboard_url
from ._totp import lasting_code
from ._transport import Address, Transport
from ._waits import Wait
from .errors import NotFoundError
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
    MessageData,
    Sent,
    Smtp,
)

PAGE_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; form-action 'none'"
"""Blocks what a mail client blocks: scripts and remote content."""
LINK_WITHOUT_TARGET = re.compile(r' href="#" title="(https?:[^"]*)"')
"""The form of links in the server's page, which cannot be followed in the dashboard."""

__tracebackhide__ = True  # A failed test shows its own line, not ours.


class Session:
    """The state that a client, its inboxes and its messages share."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.core = Core(connection.url, connection.timeout, log=connection.log)
        self.transport = Transport(Address(connection.url, connection.api_key))

    def run(self, steps: Steps[T]) -> T:
        """Runs one operation."""
        return self.transport.run(steps)

    def read(self, data: Mapping[str, Any], details: Details | None) -> Message:
        """Creates a message from its JSON and its details."""
        return Message(**fields_of(MessageData, data), _session=self, _details=details)

    def close(self) -> None:
        """Cancels the waits and closes the connections."""
        self.transport.close()


class Restante:
    """A client of a Restante server.

    Without `url` and `RESTANTE_URL` it starts its own server, which `close` stops. `api_key` defaults to
    `RESTANTE_API_KEY`, `timeout` (seconds that a wait lasts) to `RESTANTE_TIMEOUT` or 30.
    May be shared by threads. `connection` replaces all of these;
    `pytest_plugin` uses it to share a server between the workers of a run.
    """

    def __init__(
        self,
        url: str | None = None,
        api_key: str | None = None,
        *,
        timeout: float | None = None,
        connection: Connection | None = None,
    ) -> None:
        self._session = Session(connection or connect(url, api_key, timeout))

    @property
    def url(self) -> str:
        """The address of the server."""
        return self._session.connection.url

    @property
    def smtp(self) -> Smtp:
        """The SMTP server for the application under test."""
        return self._session.connection.smtp

    @property
    def mail_domain(self) -> str:
        """The domain of every inbox."""
        return self._session.connection.mail_domain

    @property
    def mailpit_url(self) -> str:
        """The base URL for a test helper of Mailpit."""
        return self._session.connection.mailpit_url

    def health(self) -> Health:
        """Returns if the server answers."""
        return self._session.run(self._session.core.health())

    def create_inbox(self, *, timeout: float | None = None, label: str | None = None) -> Inbox:
        """Creates an inbox with its own address. `timeout`: how long its waits last, in seconds.

        `label` is shown in the dashboard, for example the title of a test.
        """
        data = self._session.run(self._session.core.create_inbox(label))
        return Inbox(self._session, data, timeout=timeout, label=label)

    def inbox_for(self, address: str, *, timeout: float | None = None, label: str | None = None) -> Inbox:
        """The inbox with an address that the application already has, such as that of a seeded user.

        It is created if the project has none; a temporary one lives for one more full lifetime. The first wait starts
        after the newest message that is there now, so it does not return mail of an earlier test.
        `label` is shown in the dashboard, for example the title of a test; it replaces an earlier one.
        """
        data, newest = self._session.run(self._session.core.ensure_inbox(address, label))
        return Inbox(self._session, data, timeout=timeout, after=newest, label=label)

    def inbox(self, id_or_address: str) -> Inbox:
        """Finds an inbox by its id or its address."""
        return Inbox(self._session, self._session.run(self._session.core.find_inbox(id_or_address)))

    def message(self, message: str) -> Message:
        """Finds a message by its id."""
        return self._session.run(self._session.core.find_message(message, self._session.read))

    def totp(self, secret: str) -> str:
        """The code that an authenticator app shows for a secret, for a second factor; see the function `totp`."""
        return self._session.run(lasting_code(secret))

    def close(self) -> None:
        """Cancels the waits and closes the connections. Stops the server if this client has started it."""
        self._session.close()
        if self._session.connection.server is not None:
            self._session.connection.server.close()

    def __enter__(self) -> Restante:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Restante({self.url!r})"


@dataclass(frozen=True)
class Message(MessageData):
    """A message in an inbox."""

    _session: Session = field(repr=False, compare=False)

    def details(self) -> Details:
        """Headers, envelope, all mailboxes, links with their text, and the list of attachments."""
        return self._session.run(self._session.core.details(self.id))

    def attachments(self) -> list[Attachment]:
        """The attachments with their bytes."""
        return self._session.run(self._session.core.attachments(self.id))

    def attachment(self, name: str | re.Pattern[str] | None = None) -> Attachment:
        """The only attachment, or the only one with this name, where `*` stands for any characters."""
        return self._session.run(self._session.core.attachment(self.id, name, self._named(), self._story()))

    def checks(self) -> MessageChecks:
        """The problems of the message: placeholders that are not filled, broken links, and more."""
        return self._session.run(self._session.core.checks(self.id))

    def check(self, *, ignore: Sequence[str] = (), warnings: bool = False) -> None:
        """Checks that the message is good. Errors fail, and with `warnings` also what a good message may have.

        The error lists each problem with its line. `ignore` has names of checks, such as "image".
        """
        core = self._session.core
        self._session.run(core.check(self.id, ignore, warnings, self._named(), self._story()))

    def forward(self, to: str) -> Sent:
        """Forwards the message as it was received, from its inbox: for a look at it in a real mail client.

        The server must be allowed to send mail.
        """
        return self._session.run(self._session.core.forward(self.id, to))

    def raw(self) -> bytes:
        """The bytes of the message as received."""
        return self._session.run(self._session.core.content(self.id, "raw"))

    def page(self) -> str:
        """The message as a page: its HTML with embedded images, or its text."""
        page = self._session.run(self._session.core.content(self.id, "page"))
        return page.decode()

    def open_in(self, page: Any) -> None:
        """Shows the message in a page of Playwright as a mail client would: no scripts, no remote images, but links."""
        body = LINK_WITHOUT_TARGET.sub(r' href="\1"', self.page())
        url = f"{self._session.connection.url}{message_path(self.id)}/page"

        def answer(route: Any) -> None:
            headers = {"Content-Security-Policy": PAGE_POLICY}
            route.fulfill(content_type="text/html; charset=utf-8", headers=headers, body=body)

        page.route(url, answer, times=1)
        page.goto(url)

    def _story(self) -> str:
        return f"\nDashboard: {dashboard_url(self._session.connection.url, self.inbox_id)}"

    def reply(self, text: str, *, html: str | None = None) -> Sent:
        """Replies to the sender, from the inbox of the message."""
        return self._session.run(self._session.core.reply(self.id, text, html))

    def delete(self) -> None:
        """Deletes the message."""
        self._session.run(self._session.core.delete(message_path(self.id)))


class Inbox:
    """An inbox. It remembers which messages its waits have returned. Usable with `with`, which deletes it."""

    def __init__(
        self,
        session: Session,
        data: InboxData,
        *,
        timeout: float | None = None,
        label: str | None = None,
        after: str | None = None,
    ) -> None:
        self._session = session
        self._label = label
        self._data = data
        self._timeout = session.core.timeout if timeout is None else checked_seconds(timeout, "timeout")
        self._position = Position(after)

    @property
    def id(self) -> str:
        """The identifier."""
        return self._data.id

    @property
    def address(self) -> str:
        """The mail address."""
        return self._data.address

    @property
    def expires_at(self) -> datetime | None:
        """When the inbox expires with its messages; None for a permanent inbox."""
        return self._data.expires_at

    @property
    def dashboard_url(self) -> str:
        """The page of this inbox in the dashboard."""
        return dashboard_url(self._session.connection.url, self.id)

    @property
    def data(self) -> InboxData:
        """All fields."""
        return self._data

    def wait_for_message(
        self,
        subject: Text | None = None,
        *,
        from_: Text | None = None,
        to: Text | None = None,
        text: Text | None = None,
        header: Mapping[str, Text] | None = None,
        has: Has | Sequence[Has] | None = None,
        where: Callable[[Message], bool] | None = None,
        after: AfterOrGoOn = ...,
        timeout: float | None = None,
    ) -> Message:
        """The next message that matches, oldest first; never one that this object has returned before.

        `to` is for the fields To and Cc, `text` for the plain text, `header` for other fields: `{"X-Order": "42"}`.
        `has` is "code", "link", "otp" or several of these. `after=None` starts over; a message or its id goes on after
        that one.
        """
        filters = Filters(subject, from_, to, text, header, has, where)
        [message] = self._session.run(self._wait(filters, after, timeout).messages(1))
        return message

    def wait_for_messages(
        self,
        count: int,
        *,
        subject: Text | None = None,
        from_: Text | None = None,
        to: Text | None = None,
        text: Text | None = None,
        header: Mapping[str, Text] | None = None,
        has: Has | Sequence[Has] | None = None,
        where: Callable[[Message], bool] | None = None,
        after: AfterOrGoOn = ...,
        timeout: float | None = None,
    ) -> list[Message]:
        """The next `count` messages that match, oldest first, within one time limit."""
        filters = Filters(subject, from_, to, text, header, has, where)
        return self._session.run(self._wait(filters, after, timeout).messages(count))

    def expect_no_message(
        self,
        within: float,
        *,
        subject: Text | None = None,
        from_: Text | None = None,
        to: Text | None = None,
        text: Text | None = None,
        header: Mapping[str, Text] | None = None,
        has: Has | Sequence[Has] | None = None,
        where: Callable[[Message], bool] | None = None,
        after: AfterOrGoOn = ...,
    ) -> None:
        """Waits `within` seconds, and fails if a matching message arrives."""
        filters = Filters(subject, from_, to, text, header, has, where)
        self._session.run(self._wait(filters, after, within).nothing())

    def messages(
        self,
        *,
        subject: Text | None = None,
        from_: Text | None = None,
        to: Text | None = None,
        text: Text | None = None,
        header: Mapping[str, Text] | None = None,
        has: Has | Sequence[Has] | None = None,
        where: Callable[[Message], bool] | None = None,
        after: After = None,
    ) -> list[Message]:
        """The current messages that match, newest first."""
        filters = Filters(subject, from_, to, text, header, has, where)
        return self._session.run(self._session.core.messages(self.id, filters, id_of(after), self._session.read))

    def _newest(self, most: int) -> list[Message]:
        """The newest messages, newest first: an inbox of a fixed address may have many."""
        return self._session.run(self._session.core.newest(self.id, most, self._session.read))

    def explain(
        self,
        *,
        subject: str | None = None,
        from_: str | None = None,
        to: str | None = None,
        text: str | None = None,
        header: Mapping[str, str] | None = None,
        has: Has | Sequence[Has] | None = None,
        after: After = None,
    ) -> Explanation:
        """Explains why no matching message arrived."""
        filters = Filters[Message](subject, from_, to, text, header, has)
        return self._session.run(self._session.core.explain(question_about(self.id, filters, id_of(after))))

    def events(self) -> list[InboxEvent]:
        """What happened to the inbox, oldest first: waits, SMTP sessions with their commands, messages, and more."""
        return self._session.run(self._session.core.events(self.id))

    def send(
        self,
        to: str,
        subject: str,
        *,
        text: str | None = None,
        html: str | None = None,
        in_reply_to: MessageData | str | None = None,
    ) -> Sent:
        """Sends a message from this inbox."""
        body = {"to": to, "subject": subject, "text": text, "html": html, "in_reply_to": id_of(in_reply_to)}
        return self._session.run(self._session.core.send(self.id, body))

    def set_faults(self, faults: Sequence[Fault | Mapping[str, Any]]) -> list[FaultState]:
        """Replaces the faults of this inbox, which the server injects. An empty list clears them."""
        return self._session.run(self._session.core.faults(self.id, faults))

    def faults(self) -> list[FaultState]:
        """The faults of this inbox, and when they were used."""
        return self._session.run(self._session.core.faults(self.id))

    def delete(self) -> None:
        """Deletes the inbox and its messages."""
        self._session.run(self._session.core.delete(inbox_path(self.id)))

    def _wait(self, filters: Filters[Message], after: AfterOrGoOn, timeout: float | None) -> Wait[Message]:
        seconds = self._timeout if timeout is None else timeout
        core, read = self._session.core, self._session.read
        return Wait(core, self._data, self._position, filters, after, seconds, read, label=self._label)

    def __enter__(self) -> Inbox:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        with contextlib.suppress(NotFoundError):
            self.delete()

    def __repr__(self) -> str:
        return f"Inbox({self.address!r})"
