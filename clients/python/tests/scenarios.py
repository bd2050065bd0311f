"""Plays a scenario of clients/scenarios.json, whose format clients/README.md describes.

It is written once: an async client is called through a portal to an event loop in its own thread.
"""

import base64
import contextlib
import dataclasses
import functools
import inspect
import json
import os
import random
import re
import signal
import socket
import ssl
import traceback
from collections import ChainMap
from collections.abc import Callable, MutableMapping
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import httpx
import pytest
from anyio.from_thread import BlockingPortal
from mail import compose, deliver, deliver_over_tls

from restante import AsyncInbox, AsyncMessage, AsyncRestante, Inbox, Restante, RestanteError, Server

FILTERS = {"from": "from_"}
"""The filters with another name in Python."""
Names = MutableMapping[str, Any]


class Blocking:
    """An object of the async client as one of the sync client."""

    def __init__(self, wrapped: Any, portal: BlockingPortal) -> None:
        self.wrapped = wrapped
        self._portal = portal

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.wrapped, "aclose" if name == "close" else name)
        if not inspect.iscoroutinefunction(found):
            return found
        return lambda *args, **kwargs: self._wrap(self._portal.call(functools.partial(found, *args, **kwargs)))

    def _wrap(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._wrap(one) for one in value]
        return Blocking(value, self._portal) if isinstance(value, AsyncInbox | AsyncMessage) else value


class Scenario:
    """One run of one scenario."""

    def __init__(self, scenario: Any, shared: Server, portal: BlockingPortal | None) -> None:
        self._scenario = scenario
        self._shared = shared
        self._portal = portal
        self._pool = ThreadPoolExecutor(max_workers=200)
        self._clients: list[Any] = []

    def play(self, directory: Path) -> None:
        flags = self._scenario.get("flags")
        self._directory = directory
        self.server = self._shared if flags is None else self._start(directory, flags)
        names: Names = {"": self._client()}
        try:
            self._steps(self._scenario["steps"], names)
        finally:
            self._pool.shutdown()
            for client in self._clients:
                client.close()
            if self.server is not self._shared:
                self.server.close()

    @staticmethod
    def _start(directory: Path, flags: list[str]) -> Server:
        # At a restart, no other server must have taken the ports.
        http, smtp = (f"127.0.0.1:{free_port()}" for _ in range(2))
        return Server("--data-dir", str(directory), "--http-listen", http, "--smtp-listen", smtp, *flags)

    def _client(self, **options: Any) -> Any:
        started = self.server.started
        given = {"url": started.url, "api_key": self.server.api_key, "timeout": 30.0, **options}
        kind = Restante if self._portal is None else AsyncRestante
        client: Any = kind(**given)
        client = client if self._portal is None else Blocking(client, self._portal)
        self._clients.append(client)
        return client

    def _steps(self, steps: Any, names: Names) -> None:
        for step in steps:
            self._step(step, names)

    def _step(self, step: Any, names: Names) -> None:
        wanted = step.get("error")
        try:
            result = self._result(step, names)
        except RestanteError as error:
            if wanted is None:
                raise
            self._note_text(step, error)
            check_error(error, filled(wanted, names))
            return
        assert wanted is None, f"{step}: no error, but {result}"
        if "as" in step and step["do"] not in ("start",):
            names[step["as"]] = result
        if "expect" in step:
            compare(plain(result), filled(step["expect"], names), str(step))

    def _note_text(self, step: Any, error: RestanteError) -> None:
        """Notes an error text for a reader; clients/error-texts collects them."""
        file = os.environ.get("ERROR_TEXTS")
        if file and self._portal is None:
            noted = {"scenario": self._scenario["name"], "step": step, "text": f"{type(error).__name__}: {error}"}
            with Path(file).open("a") as texts:
                texts.write(json.dumps(noted) + "\n")

    def _result(self, step: Any, names: Names) -> Any:
        kind = step["do"]
        if kind in ("start", "parallel"):
            return getattr(self, f"_do_{kind}")(step, names)
        given = {
            name: filled(value, names) for name, value in step.items() if name not in ("do", "as", "expect", "error")
        }
        run: Callable[..., Any] = getattr(self, f"_do_{kind}")
        return run(names, **given)

    # Steps

    def _do_client(self, names: Names, **options: Any) -> Any:
        return self._client(**options)

    def _do_health(self, names: Names, client: str = "") -> Any:
        return names[client].health()

    def _do_create(self, names: Names, client: str = "", label: str | None = None) -> Any:
        return names[client].create_inbox(label=label)

    def _do_totp(self, names: Names, secret: str, client: str = "") -> Any:
        return names[client].totp(secret)

    def _do_find(self, names: Names, inbox: str, client: str = "") -> Any:
        return names[client].inbox(inbox)

    def _do_inbox_for(self, names: Names, address: str, client: str = "", label: str | None = None) -> Any:
        return names[client].inbox_for(address, label=label)

    def _do_mail(self, names: Names, refused: str | None = None, **parts: Any) -> None:
        if "from" in parts:
            parts["sender"] = parts.pop("from")
        reply = deliver(self.server.started.smtp, compose(**parts))
        assert reply.startswith(refused or "250"), reply

    def _do_mail_over_tls(self, names: Names, to: str) -> None:
        with pytest.raises(ssl.SSLError):
            deliver_over_tls(self.server.started.smtp, to)

    def _do_wait(self, names: Names, inbox: str, **options: Any) -> Any:
        return names[inbox].wait_for_message(**filters(options))

    def _do_wait_messages(self, names: Names, inbox: str, count: int, **options: Any) -> Any:
        return names[inbox].wait_for_messages(count, **filters(options))

    def _do_expect_no_message(self, names: Names, inbox: str, **options: Any) -> Any:
        return names[inbox].expect_no_message(**filters(options))

    def _do_messages(self, names: Names, inbox: str, **options: Any) -> Any:
        return names[inbox].messages(**filters(options))

    def _do_message(self, names: Names, id: str, client: str = "") -> Any:  # noqa: A002
        return names[client].message(id)

    def _do_code(self, names: Names, message: str, matching: Any = None) -> Any:
        return names[message].code(pattern(matching))

    def _do_link(self, names: Names, message: str, match: Any = None, text: str | None = None) -> Any:
        return names[message].link(pattern(match), text=text)

    def _do_details(self, names: Names, message: str) -> Any:
        return names[message].details()

    def _do_attachments(self, names: Names, message: str) -> Any:
        return names[message].attachments()

    def _do_attachment(self, names: Names, message: str, name: Any = None) -> Any:
        return names[message].attachment(pattern(name))

    def _do_checks(self, names: Names, message: str) -> Any:
        return names[message].checks()

    def _do_assert_checks(self, names: Names, message: str, ignore: Any = ()) -> None:
        names[message].check(ignore=ignore)

    def _do_forward(self, names: Names, message: str, to: str) -> Any:
        return names[message].forward(to)

    def _do_raw(self, names: Names, message: str) -> Any:
        return names[message].raw()

    def _do_send(self, names: Names, inbox: str, **parts: Any) -> Any:
        return names[inbox].send(**parts)

    def _do_reply(self, names: Names, message: str, **parts: Any) -> Any:
        return names[message].reply(**parts)

    def _do_explain(self, names: Names, inbox: str, **options: Any) -> Any:
        return names[inbox].explain(**filters(options))

    def _do_set_faults(self, names: Names, inbox: str, faults: Any) -> Any:
        return names[inbox].set_faults(faults)

    def _do_faults(self, names: Names, inbox: str) -> Any:
        return names[inbox].faults()

    def _do_delete(self, names: Names, inbox: str = "", message: str = "") -> None:
        names[inbox or message].delete()

    def _do_start(self, step: Any, names: Names) -> None:
        names[step["as"]] = self._pool.submit(self._steps, step["steps"], names)

    def _do_join(self, names: Names, name: str) -> None:
        started: Future[None] = names[name]
        started.result()

    def _do_parallel(self, step: Any, names: Names) -> None:
        own = [ChainMap({"index": str(index)}, names) for index in range(step["times"])]
        for run in [self._pool.submit(self._steps, step["steps"], each) for each in own]:
            run.result()

    def _do_until_waits_are_open(self, names: Names) -> None:
        headers = {"Authorization": f"Bearer {self.server.api_key}"}
        with httpx.Client(base_url=self.server.started.url, headers=headers) as http:
            inbox = http.post("/v1/inboxes").json()["id"]
            while http.get(f"/v1/inboxes/{inbox}/messages/wait?timeout=1").status_code != 429:
                pass

    def _do_restart(self, names: Names, kill: bool = False) -> None:
        old, flags = self.server, self._scenario["flags"]
        if kill:
            os.kill(old.started.pid, signal.SIGKILL)
        old.close()
        listen = ["--http-listen", old.started.url.removeprefix("http://")]
        listen += ["--smtp-listen", f"{old.started.smtp.host}:{old.started.smtp.port}"]
        self.server = Server("--data-dir", str(self._directory), *listen, *flags, api_key=old.api_key)

    def _do_check(self, names: Names, value: Any) -> Any:
        return value


def free_port() -> int:
    """A port that nothing listens on, and that the system does not give to a program that asks for any port."""
    while True:
        port = random.randrange(12_000, 32_000)
        with contextlib.suppress(OSError), socket.socket() as taken:
            taken.bind(("127.0.0.1", port))
            return port


def filters(options: Any) -> dict[str, Any]:
    given = {FILTERS.get(name, name): pattern(value) for name, value in options.items()}
    if header := given.get("header"):
        given["header"] = {name: pattern(value) for name, value in header.items()}
    if wanted := given.get("where"):
        given["where"] = lambda message: matches(plain(message), wanted)
    return given


def pattern(value: Any) -> Any:
    if isinstance(value, dict) and "$regex" in value:
        return re.compile(value["$regex"], re.I if "i" in value.get("flags", "") else 0)
    return value


def filled(value: Any, names: Names) -> Any:
    """The value with every `${name.field}` replaced."""
    if isinstance(value, str):
        return re.sub(r"\$\{([^}]+)\}", lambda found: lookup(found[1], names), value)
    if isinstance(value, list):
        return [filled(one, names) for one in value]
    return {key: filled(one, names) for key, one in value.items()} if isinstance(value, dict) else value


def lookup(path: str, names: Names) -> str:
    name, *fields = path.split(".")
    value = plain(names[name])
    for field in fields:
        if field == "mistyped":
            address = value["address"]
            value = ("1" if address[0] == "0" else "0") + address[1:]
        else:
            value = value[field]
    return str(value)


def plain(value: Any) -> Any:
    """A result as the server would write it."""
    value = value.wrapped if isinstance(value, Blocking) else value
    if isinstance(value, Inbox | AsyncInbox):
        return plain(value.data)
    if isinstance(value, Restante | AsyncRestante):
        named = {"mail_domain": value.mail_domain, "mailpit_url": value.mailpit_url}
        return {**named, "smtp": plain(value.smtp), "url": value.url}
    if isinstance(value, datetime):
        return value.astimezone(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    if dataclasses.is_dataclass(value):
        names = [field.name for field in dataclasses.fields(value) if not field.name.startswith("_")]
        return {name.removesuffix("_"): plain(getattr(value, name)) for name in names}
    return [plain(one) for one in value] if isinstance(value, list | tuple) else value


def compare(found: Any, wanted: Any, place: str) -> None:
    assert matches(found, wanted), f"{place}: found {found}"


def matches(found: Any, wanted: Any) -> bool:
    if isinstance(wanted, dict):
        [(operator, operand)] = list(wanted.items())[:1] or [("", None)]
        if operator.startswith("$"):
            return holds(found, operator, operand)
        return isinstance(found, dict) and all(key in found and matches(found[key], one) for key, one in wanted.items())
    if isinstance(wanted, list):
        same = isinstance(found, list) and len(found) == len(wanted)
        return same and all(matches(one, other) for one, other in zip(found, wanted, strict=True))
    return bool(found == wanted)


def holds(found: Any, operator: str, operand: Any) -> bool:
    match operator:
        case "$contains":
            return bool((operand.encode() if isinstance(found, bytes) else operand) in found)
        case "$matches":
            return re.search(operand, found) is not None
        case "$length":
            return bool(len(found) == operand)
        case "$base64":
            return bool(found == base64.b64decode(operand))
    raise AssertionError(f"unknown operator {operator}")


def check_error(error: RestanteError, wanted: Any) -> None:
    assert type(error).__name__ == wanted["type"], repr(error)
    for part in wanted.get("message", []):
        assert part in str(error)
    printed = "".join(traceback.format_exception(error))
    for part in wanted.get("no", []):
        assert part not in str(error)
        assert part not in printed
    for name, value in wanted.get("fields", {}).items():
        compare(plain(getattr(error, name)), value, name)
