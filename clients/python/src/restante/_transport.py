"""The drivers: they execute the effects of the core over HTTP. Only this module has the key.

They use the standard library: a test that mocks httpx or another library means the requests of the application. The
asynchronous driver executes each effect in a thread: a test may stop the clock of its event loop.
"""

from __future__ import annotations

import json
import socket
import ssl
import threading
from base64 import b64encode
from contextlib import suppress
from http.client import BadStatusLine, HTTPConnection, HTTPException, HTTPSConnection, RemoteDisconnected
from select import select
from typing import TypeVar
from urllib.parse import SplitResult, quote, unquote, urlencode, urlsplit
from urllib.request import getproxies, proxy_bypass

import anyio
import anyio.lowlevel
import anyio.to_thread

from . import _texts
from ._loops import warn_in_event_loop
from ._protocol import Broken, Effect, Outcome, Pause, Reply, Request, Steps
from .errors import RestanteError

__tracebackhide__ = True  # A failed test shows its own line, not ours.

T = TypeVar("T")
CONNECT_SECONDS = 5.0
LOOPBACK = ("localhost", "127.0.0.1", "::1")


class Address:
    """Where the server is, with the key."""

    def __init__(self, url: str, api_key: str) -> None:
        self._server, self._proxy = urlsplit(url), _proxy(url)
        self.path = quote(self._server.path, safe="/%")
        self.headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        # Created once, because reading the certificates of the authorities takes longer than a request.
        self._tls = ssl.create_default_context() if self._server.scheme == "https" else None
        if self._proxy and self._tls is None:
            self.path = f"http://{self._server.netloc}{self.path}"
            self.headers.update(_authorization(self._proxy))

    def connect(self) -> HTTPConnection:
        """A new connection."""
        near = self._proxy or self._server
        host, port = near.hostname or "", near.port
        if self._tls is None:
            connection = HTTPConnection(host, port, timeout=CONNECT_SECONDS)
        else:
            connection = HTTPSConnection(host, port, timeout=CONNECT_SECONDS, context=self._tls)
            if self._proxy:
                headers = _authorization(self._proxy)
                connection.set_tunnel(self._server.hostname or "", self._server.port, headers)
        connection.connect()
        return connection


def _proxy(url: str) -> SplitResult | None:
    """The proxy of the environment. It cannot reach this machine."""
    server = urlsplit(url)
    host = server.hostname or ""
    proxy = getproxies().get(server.scheme)
    if not proxy or host in LOOPBACK or proxy_bypass(host):
        return None
    return urlsplit(proxy if "://" in proxy else f"http://{proxy}")


def _authorization(proxy: SplitResult) -> dict[str, str]:
    if not proxy.username:
        return {}
    secret = f"{unquote(proxy.username)}:{unquote(proxy.password or '')}"
    return {"Proxy-Authorization": f"Basic {b64encode(secret.encode()).decode()}"}


class Transport:
    """Runs operations one after another in each thread. May be shared by threads."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._closed = threading.Event()
        self._used: set[HTTPConnection] = set()
        self._idle: list[HTTPConnection] = []

    def run(self, steps: Steps[T]) -> T:
        """Runs an operation to its end."""
        outcome: Outcome = None
        try:
            while True:
                outcome = self.do(steps.send(outcome))
        except StopIteration as done:
            result: T = done.value
            return result
        finally:
            steps.close()

    def close(self) -> None:
        """Cancels the operations of other threads, and closes the connections."""
        self._closed.set()
        # Closing a socket does not wake a thread that reads from it; shutting it down does.
        for connection in list(self._used):
            with suppress(OSError, AttributeError):
                connection.sock.shutdown(socket.SHUT_RDWR)
        for connection in self._idle:
            connection.close()

    def do(self, effect: Effect) -> Outcome:
        """Executes one effect."""
        if isinstance(effect, Pause):
            self._closed.wait(effect.seconds)
            return None
        self._check()
        if effect.is_wait:
            warn_in_event_loop()
        try:
            connection = self._idle_connection() or self._address.connect()
        except OSError as error:
            self._check()
            return _broken(error, sent=False)
        try:
            return self._exchange(connection, effect)
        except (OSError, HTTPException) as error:
            self._check()
            return _broken(error, sent=True)

    def _exchange(self, connection: HTTPConnection, request: Request) -> Reply:
        query = f"?{urlencode(request.query)}" if request.query else ""
        headers, body = {**self._address.headers, **request.headers}, None
        if request.body is not None:
            headers["Content-Type"], body = "application/json", json.dumps(request.body).encode()
        self._used.add(connection)
        try:
            self._check()
            connection.sock.settimeout(request.seconds)
            connection.request(request.method, f"{self._address.path}{request.path}{query}", body, headers)
            response = connection.getresponse()
            names = {name.lower(): value for name, value in response.getheaders()}
            reply = Reply(response.status, names, response.read())
        except BaseException:
            connection.close()
            raise
        finally:
            self._used.discard(connection)
        self._idle.append(connection)
        if self._closed.is_set():
            connection.close()
        return reply

    def _idle_connection(self) -> HTTPConnection | None:
        """A connection that the server has not closed."""
        with suppress(IndexError):
            while True:
                connection = self._idle.pop()
                # What can be read from an idle connection is its end.
                with suppress(ValueError, TypeError):
                    if not select([connection.sock], [], [], 0)[0]:
                        return connection
                connection.close()
        return None

    def _check(self) -> None:
        if self._closed.is_set():
            raise RestanteError(_texts.CLOSED)


class AsyncTransport:
    """The same for asyncio and trio. It keeps no connections open, so it can be used in several event loops in turn."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._is_closed = False
        self._open: set[Transport] = set()

    async def run(self, steps: Steps[T]) -> T:
        """Runs an operation to its end."""
        if self._is_closed:
            raise RestanteError(_texts.CLOSED)
        transport = Transport(self._address)
        self._open.add(transport)
        outcome: Outcome = None
        try:
            while True:
                do, effect, limiter = transport.do, steps.send(outcome), anyio.CapacityLimiter(1)
                outcome = await anyio.to_thread.run_sync(do, effect, abandon_on_cancel=True, limiter=limiter)
        except StopIteration as done:
            result: T = done.value
            return result
        finally:
            self._open.discard(transport)
            # This ends the thread of a cancelled effect, too.
            transport.close()
            steps.close()

    async def aclose(self) -> None:
        """Cancels the open operations. No connections are open between operations."""
        self._is_closed = True
        for transport in list(self._open):
            transport.close()
        await anyio.lowlevel.checkpoint()


def _broken(error: Exception, sent: bool) -> Broken:
    speaks_no_http = isinstance(error, BadStatusLine) and not isinstance(error, RemoteDisconnected)
    return Broken(str(error).strip() or type(error).__name__, sent=sent, is_connected=speaks_no_http)
