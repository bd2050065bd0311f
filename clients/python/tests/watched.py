"""Sees which servers were started, and when they have ended. It waits for events: the ends of pipes."""

from __future__ import annotations

import os
import select
import stat
from pathlib import Path

SCRIPT = """#!/bin/sh
echo "$$ $RESTANTE_DATA_DIR" >> {log}
# The server keeps this end of the pipe open for as long as it runs.
exec 9<> {alive}
exec {binary} "$@"
"""
SECONDS = 100.0


class Watched:
    """A program to set as RESTANTE_BIN: it notes that it was started, and becomes the server."""

    def __init__(self, directory: Path, binary: str) -> None:
        self.program = directory / "watched-restante"
        self.ready = directory / "ready"
        self._log, self._alive = directory / "started.log", directory / "alive"
        os.mkfifo(self._alive)
        os.mkfifo(self.ready)
        self._pipe = os.open(self._alive, os.O_RDONLY | os.O_NONBLOCK)
        self._ready = os.open(self.ready, os.O_RDONLY | os.O_NONBLOCK)
        self.program.write_text(SCRIPT.format(log=self._log, alive=self._alive, binary=binary))
        self.program.chmod(self.program.stat().st_mode | stat.S_IXUSR)

    def started(self) -> list[str]:
        """One line for each server."""
        return self._log.read_text().splitlines()

    def directories(self) -> list[Path]:
        """The data directories of the servers."""
        return [Path(line.split()[1]).parent for line in self.started()]

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
