"""Sees when the servers that a client has started have ended. It waits for events: the ends of pipes."""

from __future__ import annotations

import os
import select
import stat
from pathlib import Path

SCRIPT = """#!/bin/sh
# The server keeps this end of the pipe open for as long as it runs.
exec 9<> {alive}
exec {binary} "$@"
"""
SECONDS = 100.0


class Watched:
    """A program to set as RESTANTE_BIN: it becomes the server, which keeps a pipe open."""

    def __init__(self, directory: Path, binary: str) -> None:
        self.program = directory / "watched-restante"
        self.ready = directory / "ready"
        self.temporary, self._alive = directory / "temporary", directory / "alive"
        self.temporary.mkdir()
        os.mkfifo(self._alive)
        os.mkfifo(self.ready)
        self._pipe = os.open(self._alive, os.O_RDONLY | os.O_NONBLOCK)
        self._ready = os.open(self.ready, os.O_RDONLY | os.O_NONBLOCK)
        self.program.write_text(SCRIPT.format(alive=self._alive, binary=binary))
        self.program.chmod(self.program.stat().st_mode | stat.S_IXUSR)

    def left(self) -> list[Path]:
        """The directories of servers that have not been removed."""
        return [path for path in self.temporary.glob("restante-*/*") if path.is_dir()]

    def wait_until_ready(self) -> None:
        """Returns when a test has opened `ready`."""
        self._wait(self._ready)

    def wait_until_ended(self) -> None:
        """Returns when every server has ended."""
        self._wait(self._pipe)

    @staticmethod
    def _wait(pipe: int) -> None:
        """Until the last writer has closed the pipe."""
        poll = select.poll()
        poll.register(pipe, select.POLLHUP)
        assert poll.poll(SECONDS * 1000), "still open"

    def close(self) -> None:
        """Closes the pipes."""
        os.close(self._pipe)
        os.close(self._ready)
