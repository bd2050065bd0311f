"""What a test replaces, the HTTP of its application and the time, is not what the clients use."""

import json
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import anyio
import freezegun
import pytest
import respx
import time_machine
from pytest_httpx import HTTPXMock

from restante import AsyncRestante, Restante, Server, WaitTimeoutError, totp

INBOX = {
    "id": "k3v9",
    "address": "k3v9@restante.example.com",
    "kind": "temporary",
    "created_at": "2026-11-20T09:30:00.123Z",
    "expires_at": None,
}
EXPLANATION: dict[str, Any] = {
    "summary": "Nothing.",
    "cause": "nothing_sent",
    "inbox": None,
    "ended": None,
    "messages": {"count": 0, "latest": []},
    "refused": [],
    "sessions": [],
}
BUSY = {"error": "too many concurrent waits"}
AUTHENTICATOR = "otpauth://totp/Shop:ada?secret=GEZDGNBVGY3TQOJQ&period=100000000"
"""Its code changes once in three years, so it is not that of 1970, at which the tests stop the time."""


@pytest.fixture
def busy() -> Iterator[str]:
    """A server that has too many waits, so that the clients pause between requests."""

    class Busy(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self._answer(201, INBOX)

        def do_GET(self) -> None:
            if "/explain" in self.path:
                self._answer(200, EXPLANATION)
            else:
                self._answer(429, BUSY)

        def _answer(self, status: int, body: Any) -> None:
            self.send_response(status)
            self.end_headers()
            self.wfile.write(json.dumps(body).encode())

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Busy) as server:
        threading.Thread(target=server.serve_forever).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def wait_with_both(url: str, key: str, backend: str) -> None:
    """Waits for mail that does not come."""
    with Restante(url, key) as client, pytest.raises(WaitTimeoutError, match=r"0\.3 s"):
        client.create_inbox().wait_for_message(timeout=0.3)

    async def use() -> None:
        async with AsyncRestante(url, key) as client:
            inbox = await client.create_inbox()
            with pytest.raises(WaitTimeoutError, match=r"0\.3 s"):
                await inbox.wait_for_message(timeout=0.3)
            assert await client.totp(AUTHENTICATOR) == totp(AUTHENTICATOR)

    anyio.run(use, backend=backend)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@pytest.mark.parametrize("mocker", ["httpx", "httpcore"])
def test_respx(server: Server, backend: str, mocker: str) -> None:
    with respx.mock(using=mocker):
        wait_with_both(server.started.url, server.api_key, backend)


def test_pytest_httpx(httpx_mock: HTTPXMock, server: Server) -> None:
    wait_with_both(server.started.url, server.api_key, "asyncio")
    assert not httpx_mock.get_requests()


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@pytest.mark.parametrize(
    "stopped",
    [freezegun.freeze_time("1970-01-02"), time_machine.travel(86_400, tick=False)],
    ids=["freezegun", "time-machine"],
)
def test_a_stopped_time(stopped: AbstractContextManager[Any], busy: str, backend: str) -> None:
    code = totp(AUTHENTICATOR)
    with stopped:
        wait_with_both(busy, "key", backend)
        assert totp(AUTHENTICATOR) == code
