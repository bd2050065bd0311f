"""Starts `restante serve --for-tests`, which has the settings of a server for tests, and ends with who needs it."""

from __future__ import annotations

import json
import os
import subprocess
import threading
import weakref
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from ._binary import find_binary
from ._decode import decode
from .errors import UnreachableError
from .model import Smtp

START_SECONDS = 30.0
STOP_SECONDS = 15.0


@dataclass(frozen=True)
class Started:
    """The contents of the line that the server prints."""

    version: str
    pid: int
    url: str
    smtp: Smtp
    mail_domain: str
    mailpit_url: str | None
    log: str
    api_key: str | None


class Server:
    """A server for tests, started by the constructor and stopped by `close`, or with this process, even if it crashes.

    The server gets the environment: `RESTANTE_SMTP_LISTEN=127.0.0.1:1025` gives it a fixed port. `flags` are those of
    `restante serve`; with `--shared`, the server stops with the last process that shares it.
    """

    def __init__(self, *flags: str, api_key: str | None = None) -> None:
        process = _start([find_binary(), "serve", "--for-tests", *flags], api_key)
        self._end = weakref.finalize(self, _end, process, os.getpid())
        try:
            self.started = _greeting(process)
        except BaseException:
            process.kill()
            self.close()
            raise
        self.api_key = self.started.api_key or api_key or os.environ.get("RESTANTE_API_KEY", "")

    @property
    def log_path(self) -> Path:
        """The file of the log, which ends with the server."""
        return Path(self.started.log)

    def log(self) -> str:
        """The log of the server."""
        return self.log_path.read_text(errors="replace")

    def close(self) -> None:
        """Stops the server gracefully, and removes its data."""
        self._end()

    def __enter__(self) -> Server:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def _start(command: list[str], api_key: str | None) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "RESTANTE_API_KEY": api_key} if api_key else None
    pipe = subprocess.PIPE
    try:
        return subprocess.Popen(command, env=environment, stdin=pipe, stdout=pipe, stderr=pipe)  # noqa: S603
    except OSError as error:
        chosen = "RESTANTE_BIN=" if os.environ.get("RESTANTE_BIN") == command[0] else ""
        raise UnreachableError(f"{chosen}{command[0]} does not start: {error.strerror}") from None


def _greeting(process: subprocess.Popen[bytes]) -> Started:
    watch = threading.Timer(START_SECONDS, process.kill)
    watch.start()
    try:
        line = process.stdout.readline() if process.stdout else b""
    finally:
        watch.cancel()
    if not line:
        problem = process.communicate()[1][-2000:].decode(errors="replace")
        raise UnreachableError(f"The Restante server did not start: {problem or 'it printed nothing'}")
    try:
        return decode(Started, json.loads(line))
    except (ValueError, TypeError, AttributeError):
        text = line[:200].decode(errors="replace").strip()
        raise UnreachableError(f"The program in RESTANTE_BIN is not Restante. It printed: {text}") from None


def _end(process: subprocess.Popen[bytes], owner: int) -> None:
    """Closes the standard input of the server, which stops it gracefully."""
    if os.getpid() != owner:
        return  # A fork of the process that has started it.
    try:
        process.communicate(timeout=STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
