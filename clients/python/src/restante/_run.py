"""One server for all processes of a pytest run. The process that the user started owns it.

With xdist, that is the controller. A worker asks it over a local connection, and the first question starts the server.
So it ends with the run, and not with a worker.
"""

from __future__ import annotations

import contextlib
import secrets
import threading
from dataclasses import dataclass, replace
from multiprocessing import AuthenticationError
from multiprocessing import connection as local
from multiprocessing.connection import Client, Listener
from typing import Any

from ._connection import Connection, connect
from .errors import RestanteError, UnreachableError

Address = tuple[str, int]


@dataclass(frozen=True)
class Options:
    """The settings from the command line, the environment and the ini file."""

    url: str | None
    api_key: str | None
    timeout: float | None


class Run:
    """The connection of this run, created when it is first needed."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._lock = threading.Lock()
        self._connection: Connection | None = None

    def connection(self) -> Connection:
        """The server of the options, or the one that this run starts."""
        with self._lock:
            if self._connection is None:
                self._connection = self._connect()
            return self._connection

    def _connect(self) -> Connection:
        return connect(self._options.url, self._options.api_key, self._options.timeout)

    def close(self) -> None:
        """Stops the server, if this run has started one."""
        with self._lock:
            if self._connection is not None and self._connection.server is not None:
                self._connection.server.close()


class Desk:
    """The controller's side: sends the connection to each worker that requests it."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._key = secrets.token_bytes(32)
        self._listener = Listener(("127.0.0.1", 0), backlog=64)
        threading.Thread(target=self._accept, name="restante", daemon=True).start()

    def directions(self) -> dict[str, Any]:
        """The data that a worker needs to request the connection."""
        return {"address": self._listener.address, "key": self._key.hex()}

    def _accept(self) -> None:
        while True:
            with contextlib.suppress(OSError):
                worker = self._listener.accept()
                # Each has a thread: what connects may be no worker, and say nothing.
                threading.Thread(target=self._answer, args=(worker,), name="restante", daemon=True).start()

    def _answer(self, worker: local.Connection[Any, Any]) -> None:
        # Not a worker, or one that has ended in the meantime.
        with contextlib.suppress(AuthenticationError, EOFError, OSError), worker:
            local.deliver_challenge(worker, self._key)
            local.answer_challenge(worker, self._key)
            worker.send(self._said())

    def _said(self) -> Connection | str:
        try:
            return replace(self._run.connection(), server=None)
        except RestanteError as error:
            return str(error)
        except Exception as error:
            # For example a full disk. Without an answer, a worker could not say what is wrong.
            return f"No Restante server was started: {type(error).__name__}: {error}"


class WorkerRun(Run):
    """A worker's side."""

    def __init__(self, options: Options, directions: dict[str, Any]) -> None:
        super().__init__(options)
        self._directions = directions

    def _connect(self) -> Connection:
        address: Address = tuple(self._directions["address"])
        with Client(address, authkey=bytes.fromhex(self._directions["key"])) as desk:
            said: Connection | str = desk.recv()
        if isinstance(said, str):
            raise UnreachableError(said)
        return said
