"""The drivers: they execute the effects of the core with httpx. Only this module has the key."""

from __future__ import annotations

import ssl
import time
from collections.abc import Mapping
from typing import Any, TypeVar
from urllib.parse import urlsplit

import anyio
import httpx

from ._protocol import Broken, Effect, Outcome, Pause, Reply, Request, Steps

__tracebackhide__ = True  # A failed test shows its own line, not ours.

T = TypeVar("T")
CONNECT_SECONDS = 5.0
LOOPBACK = ("localhost", "127.0.0.1", "::1")


class Transport:
    """Runs operations one after another in each thread. May be shared by threads."""

    def __init__(self, url: str, api_key: str) -> None:
        self._http = httpx.Client(**_options(url, api_key))

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
        """Closes the connections."""
        self._http.close()

    def _do(self, effect: Effect) -> Outcome:
        if isinstance(effect, Pause):
            time.sleep(effect.seconds)
            return None
        try:
            return _reply(self._http.send(_request(self._http, effect)))
        except httpx.RequestError as error:
            return _broken(error)


class AsyncTransport:
    """The same for asyncio and trio. It keeps no connections open, so it can be used in several event loops in turn."""

    def __init__(self, url: str, api_key: str) -> None:
        self._options = _options(url, api_key)

    async def run(self, steps: Steps[T]) -> T:
        """Runs an operation to its end."""
        outcome: Outcome = None
        try:
            async with httpx.AsyncClient(**self._options) as http:
                while True:
                    outcome = await self._do(http, steps.send(outcome))
        except StopIteration as done:
            result: T = done.value
            return result
        finally:
            steps.close()

    async def aclose(self) -> None:
        """Does nothing: no connections are open."""

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
    return http.build_request(request.method, request.path, params=query, json=request.body, timeout=limits)


def _reply(response: httpx.Response) -> Reply:
    return Reply(
        response.status_code, {name.lower(): value for name, value in response.headers.items()}, response.content
    )


def _broken(error: httpx.RequestError) -> Broken:
    unsent = isinstance(error, httpx.ConnectError | httpx.ConnectTimeout | httpx.UnsupportedProtocol)
    return Broken(str(error) or type(error).__name__, sent=not unsent)
