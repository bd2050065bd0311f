"""A server for one run: on free ports, with temporary data. It stops even if this process is killed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import threading
import weakref
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from ._abandoned import prefix, remove_abandoned
from ._binary import find_binary
from ._decode import decode
from .errors import UnreachableError
from .model import Smtp

START_SECONDS = 30.0
STOP_SECONDS = 15.0
# Settings that would connect it to the data or the URL of another server.
NOT_PASSED_ON = ("RESTANTE_DATABASE", "RESTANTE_BASE_URL", "RESTANTE_DATA_DIR")
DEFAULTS = {
    "RESTANTE_HTTP_LISTEN": "127.0.0.1:0",
    "RESTANTE_SMTP_LISTEN": "127.0.0.1:0",
    "RESTANTE_MAILPIT_LISTEN": "127.0.0.1:0",
    "RESTANTE_WAITS_PER_KEY": "128",
    # Mailers that upgrade to TLS whenever they can would reject the self-signed certificate.
    "RESTANTE_SMTP_STARTTLS": "off",
    "RESTANTE_SMTP_PLAINTEXT_AUTH": "true",
}


@dataclass(frozen=True)
class Started:
    """The contents of the line of `--print-json`."""

    version: str
    pid: int
    url: str
    smtp: Smtp
    mail_domain: str
    mailpit_url: str | None
    api_key: str | None


class Server:
    """`restante serve`, started by the constructor and stopped by `close`, or with this process, even if it crashes.

    The server gets the environment: `RESTANTE_SMTP_LISTEN=127.0.0.1:1025` gives it a fixed port. `flags` are those of
    `restante serve`.
    """

    def __init__(self, *flags: str, api_key: str | None = None) -> None:
        binary = find_binary()
        remove_abandoned()
        directory = Path(tempfile.mkdtemp(prefix=f"{prefix()}{os.getpid()}-"))
        self._log = directory / "server.log"
        try:
            process = self._start([binary, "serve", "--print-json", "--exit-with-stdin", *flags], directory, api_key)
        except BaseException:
            shutil.rmtree(directory, ignore_errors=True)
            raise
        self._end = weakref.finalize(self, _end, process, directory, os.getpid())
        try:
            self.started = self._greeting(process)
        except BaseException:
            self.close()
            raise
        self.api_key = self.started.api_key or api_key or os.environ.get("RESTANTE_API_KEY", "")

    def _start(self, command: list[str], directory: Path, api_key: str | None) -> subprocess.Popen[bytes]:
        environment = {**_environment(command), "RESTANTE_DATA_DIR": str(directory / "data")}
        if api_key:
            environment["RESTANTE_API_KEY"] = api_key
        try:
            with self._log.open("wb") as log:
                return subprocess.Popen(  # noqa: S603
                    command,
                    env=environment,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    # Ctrl-C is for the tests, which still need the server when they clean up.
                    start_new_session=True,
                    creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
                )
        except OSError as error:
            chosen = "RESTANTE_BIN=" if os.environ.get("RESTANTE_BIN") == command[0] else ""
            raise UnreachableError(f"{chosen}{command[0]} does not start: {error.strerror}") from None

    def _greeting(self, process: subprocess.Popen[bytes]) -> Started:
        watch = threading.Timer(START_SECONDS, process.kill)
        watch.start()
        try:
            line = process.stdout.readline() if process.stdout else b""
        finally:
            watch.cancel()
        if not line:
            process.wait()
            raise UnreachableError(f"The Restante server did not start. Its log:\n{self.log()[-2000:]}")
        try:
            return decode(Started, json.loads(line))
        except (ValueError, TypeError, AttributeError):
            text = line[:200].decode(errors="replace").strip()
            raise UnreachableError(f"The program in RESTANTE_BIN is not Restante. It printed: {text}") from None

    @property
    def log_path(self) -> Path:
        """The file of the log."""
        return self._log

    def log(self) -> str:
        """The log of the server."""
        return self._log.read_text(errors="replace")

    def close(self) -> None:
        """Stops the server gracefully, and removes its data."""
        self._end()

    def __enter__(self) -> Server:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def _environment(command: list[str]) -> dict[str, str]:
    """The environment, with the defaults for a server of tests. An empty setting counts as absent."""
    given = {
        name: value
        for name, value in os.environ.items()
        if name not in NOT_PASSED_ON and (value or not name.startswith("RESTANTE_"))
    }
    environment = {**DEFAULTS, **given}
    if "RESTANTE_RELAY" not in environment:
        # A test must not send mail to the internet by mistake.
        environment.setdefault("RESTANTE_OUTBOUND", "off")
    if environment.get("RESTANTE_OUTBOUND") == "off":
        # It listens on loopback and never sends, so it can accept mail to every address of the application.
        environment.setdefault("RESTANTE_ACCEPT_DOMAINS", "*")
    is_local = environment["RESTANTE_HTTP_LISTEN"].startswith(("127.", "[::1]"))
    if is_local and not any(flag.startswith("--http-listen") for flag in command):
        # Helpers for Mailpit have no key. Other hosts must not read without one.
        environment.setdefault("RESTANTE_MAILPIT_API", "open")
    return environment


def _end(process: subprocess.Popen[bytes], directory: Path, owner: int) -> None:
    """Closes the standard input of the server, which stops it gracefully."""
    if os.getpid() != owner:
        return  # A fork of the process that has started it.
    try:
        process.communicate(timeout=STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
    shutil.rmtree(directory, ignore_errors=True)
