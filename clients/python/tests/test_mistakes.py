"""A user's mistake in a setting is an error that names it, and closing a client ends its waits."""

import os
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from socketserver import BaseRequestHandler, TCPServer
from typing import Any

import anyio
import pytest
from watched import Watched

from restante import AsyncRestante, Restante, RestanteError, Server, UnreachableError

KEY = "rst_live_secret00000000000000000000"
RIGHT = {"RESTANTE_URL": "http://localhost:8025", "RESTANTE_API_KEY": KEY}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("RESTANTE_URL", "the server"),
        ("RESTANTE_URL", "http://"),
        ("RESTANTE_URL", "http://localhost:99999"),
        ("RESTANTE_URL", "http://[::1"),
        ("RESTANTE_URL", "http://exa\x01mple:1"),
        ("RESTANTE_API_KEY", f"{KEY}\n"),
        ("RESTANTE_API_KEY", f"\N{LEFT DOUBLE QUOTATION MARK}{KEY}"),
        ("RESTANTE_TIMEOUT", "soon"),
        ("RESTANTE_TIMEOUT", "nan"),
        ("RESTANTE_SMTP", "localhost:99999"),
        ("RESTANTE_SMTP", "localhost:smtp"),
    ],
)
def test_a_mistake_in_a_variable(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    for variable, given in {**RIGHT, name: value}.items():
        monkeypatch.setenv(variable, given)
    with pytest.raises(RestanteError) as caught:
        Restante()
    assert (value if name == "RESTANTE_URL" else name) in str(caught.value)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("seconds", ["soon", -1.0, float("nan")])
def test_a_time_that_is_none(client: Restante, seconds: Any) -> None:
    inbox = client.create_inbox()
    calls: list[Callable[[], object]] = [
        lambda: Restante("http://localhost:8025", KEY, timeout=seconds),
        lambda: client.create_inbox(timeout=seconds),
        lambda: inbox.wait_for_message(timeout=seconds),
        lambda: inbox.expect_no_message(seconds),
    ]
    for call in calls:
        with pytest.raises(RestanteError, match="number of seconds"):
            call()


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (200, "<!doctype html><title>Shop</title>"),
        (200, '{"name": "shop"}'),
        (200, "[1, 2]"),
        (200, "null"),
        (204, ""),
        (302, ""),
        (401, "<h1>Who are you?</h1>"),
        (404, "<h1>Not found: shop</h1>"),
        (501, "<h1>Unsupported method</h1>"),
    ],
)
def test_another_server_is_unreachable(status: int, body: str) -> None:
    class Shop(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.send_response(status)
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            pass

    with HTTPServer(("127.0.0.1", 0), Shop) as shop:
        threading.Thread(target=shop.serve_forever).start()
        url = f"http://127.0.0.1:{shop.server_port}"
        try:
            with Restante(url, KEY) as client, pytest.raises(UnreachableError) as caught:
                client.create_inbox()
        finally:
            shop.shutdown()
    for part in (url, str(status), body):
        assert part in str(caught.value)


class MailServer(BaseRequestHandler):
    def handle(self) -> None:
        self.request.sendall(b"220 mail ESMTP\r\n")
        self.request.recv(1 << 16)


def test_the_smtp_address_instead_of_that_for_http() -> None:
    with TCPServer(("127.0.0.1", 0), MailServer) as server:
        threading.Thread(target=server.serve_forever).start()
        try:
            url = f"http://127.0.0.1:{server.server_address[1]}"
            with (
                Restante(url, KEY, timeout=0.1) as client,
                pytest.raises(UnreachableError, match=r"no HTTP response .* that for SMTP"),
            ):
                client.create_inbox()
        finally:
            server.shutdown()


@pytest.mark.parametrize("script", ["echo Hello", "echo '{}'", "echo 5"])
def test_a_program_that_is_not_restante(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    program = tmp_path / "restante"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("RESTANTE_BIN", str(program))
    with pytest.raises(UnreachableError, match="not Restante"):
        Server()


def test_the_log_of_the_own_server_is_in_the_error_when_it_has_died(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The next start of a server removes the directory of one that was killed.
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with Restante(timeout=0.3) as client:
        server = client._session.connection.server
        assert server
        server.log_path.write_text("the disk is full")
        os.kill(server.started.pid, signal.SIGKILL)
        with pytest.raises(UnreachableError, match="the disk is full") as caught:
            client.create_inbox()
    assert "restante serve" not in str(caught.value)


def test_closing_ends_the_waits_of_other_threads(server: Server) -> None:
    client = Restante(server.started.url, server.api_key)
    inboxes = [client.create_inbox() for _ in range(3)]
    with ThreadPoolExecutor(3) as pool:
        waits = [pool.submit(inbox.wait_for_message, timeout=60) for inbox in inboxes]
        while len(client._session.transport._used) < len(waits):
            time.sleep(0.01)
        started = time.monotonic()
        client.close()
        for wait in waits:
            with pytest.raises(RestanteError, match="client was closed"):
                wait.result()
    assert time.monotonic() - started < 10
    with pytest.raises(RestanteError, match="client was closed"):
        client.create_inbox()


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_closing_ends_the_waits_of_other_tasks_and_leaves_no_data(watched: Watched, backend: str) -> None:
    async def use() -> None:
        client = AsyncRestante()
        inbox = await client.create_inbox()
        closed: list[RestanteError] = []

        async def wait() -> None:
            with pytest.raises(RestanteError, match="client was closed") as caught:
                await inbox.wait_for_message(timeout=60)
            closed.append(caught.value)

        with anyio.fail_after(30):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(wait)
                await client.health()
                await client.aclose()
        assert closed

    anyio.run(use, backend=backend)
    watched.wait_until_ended()
    assert watched.left() == []
