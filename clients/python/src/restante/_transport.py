"""The drivers: they execute the effects of the core with httpx. Only this module has the key."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, TypeVar
from urllib.parse import urlsplit
from weakref import WeakSet

import anyio
import anyio.lowlevel
import httpx

from . import _texts
from ._loops import warn_in_event_loop
from ._protocol import Broken, Effect, Outcome, Pause, Reply, Request, Steps
from .errors import RestanteError, UnreachableError

__tracebackhide__ = True  # A failed test shows its own line, not ours.

T = TypeVar("T")
CONNECT_SECONDS = 5.0
CONNECTED = ("connection.connect_tcp.complete", "connection.start_tls.complete")
"""The events of httpcore with a new socket."""
LOOPBACK = ("localhost", "127.0.0.1", "::1")


class Transport:
    """Runs operations one after another in each thread. May be shared by threads."""

    def __init__(self, url: str, api_key: str) -> None:
        self._closed = threading.Event()
        self._sockets: WeakSet[socket.socket] = WeakSet()
        try:
            self._http = httpx.Client(**_options(url, api_key))
        except httpx.InvalidURL as error:
            raise UnreachableError(_texts.no_address(url, str(error))) from None

    def run(self, steps: Steps[T]) -> T:
        """Runs an operation to its end."""
        outcome: Outcome = None
        try:
            while True:
                outcome = self._do(steps.send(outcome))
        except StopIteration as done:
            result: T = done.value
            return result
        finally:
            steps.close()

    def close(self) -> None:
        """Cancels the operations of other threads, and closes the connections."""
        self._closed.set()
        # Closing a socket does not wake a thread that reads from it; shutting it down does.
        for connection in list(self._sockets):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self._http.close()

    def _do(self, effect: Effect) -> Outcome:
        if isinstance(effect, Pause):
            self._closed.wait(effect.seconds)
            return None
        self._check()
        if effect.is_wait:
            warn_in_event_loop()
        try:
            request = _request(self._http, effect)
            request.extensions["trace"] = self._connected
            return _reply(self._http.send(request))
        except (httpx.RequestError, RuntimeError) as error:
            # A closed httpx client raises a RuntimeError.
            self._check()
            if isinstance(error, httpx.RequestError):
                return _broken(error)
            raise

    def _check(self) -> None:
        if self._closed.is_set():
            raise RestanteError(_texts.CLOSED)

    def _connected(self, event: str, info: Mapping[str, Any]) -> None:
        """Records the socket of a new connection."""
        if event in CONNECTED:
            self._sockets.add(info["return_value"].get_extra_info("socket"))
            self._check()


class AsyncTransport:
    """The same for asyncio and trio. It keeps no connections open, so it can be used in several event loops in turn."""

    def __init__(self, url: str, api_key: str) -> None:
        self._options = _options(url, api_key)
        self._is_closed = False
        self._scopes: set[anyio.CancelScope] = set()

    async def run(self, steps: Steps[T]) -> T:
        """Runs an operation to its end."""
        if self._is_closed:
            raise RestanteError(_texts.CLOSED)
        with anyio.CancelScope() as scope:
            self._scopes.add(scope)
            try:
                return await self._run(steps)
            finally:
                self._scopes.discard(scope)
        raise RestanteError(_texts.CLOSED)

    async def _run(self, steps: Steps[T]) -> T:
        outcome: Outcome = None
        try:
            async with httpx.AsyncClient(**self._options) as http:
                while True:
                    outcome = await self._do(http, steps.send(outcome))
        except StopIteration as done:
            result: T = done.value
            return result
        except httpx.InvalidURL as error:
            raise UnreachableError(_texts.no_address(self._options["base_url"], str(error))) from None
        finally:
            steps.close()

    async def aclose(self) -> None:
        """Cancels the open operations. No connections are open between operations."""
        self._is_closed = True
        for scope in list(self._scopes):
            scope.cancel()
        await anyio.lowlevel.checkpoint()

    @staticmethod
    async def _do(http: httpx.AsyncClient, effect: Effect) -> Outcome:
        if isinstance(effect, Pause):
            await anyio.sleep(effect.seconds)
            return None
        try:
            return _reply(await http.send(_request(http, effect)))
        except httpx.RequestError as error:
            return _broken(error)


def _options(url: str, api_key: str) -> dict[str, Any]:
    is_local = urlsplit(url).hostname in LOOPBACK
    return {
        "base_url": url,
        "headers": {"Authorization": f"Bearer {api_key}"} if api_key else {},
        # No limit, so that each thread or task of the caller can have a wait.
        "limits": httpx.Limits(max_connections=None, max_keepalive_connections=20),
        # A proxy from the environment cannot reach this machine.
        "trust_env": not is_local,
        # Created once, because reading the certificates of the authorities takes longer than a request.
        "verify": ssl.create_default_context() if url.startswith("https:") else False,
    }


def _request(http: httpx.Client | httpx.AsyncClient, request: Request) -> httpx.Request:
    query: Mapping[str, str] | None = request.query or None
    limits = httpx.Timeout(request.seconds, connect=CONNECT_SECONDS, pool=None)
    headers: Mapping[str, str] | None = request.headers or None
    return http.build_request(
        request.method, request.path, params=query, json=request.body, headers=headers, timeout=limits
    )


def _reply(response: httpx.Response) -> Reply:
    return Reply(
        response.status_code, {name.lower(): value for name, value in response.headers.items()}, response.content
    )


def _broken(error: httpx.RequestError) -> Broken:
    unsent = isinstance(error, httpx.ConnectError | httpx.ConnectTimeout | httpx.UnsupportedProtocol)
    is_connected = isinstance(error, httpx.RemoteProtocolError)
    return Broken(str(error) or type(error).__name__, sent=not unsent, is_connected=is_connected)
