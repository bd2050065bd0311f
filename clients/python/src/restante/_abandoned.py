"""Removes the directories of runs whose process was killed, so that it could not remove them itself."""

from __future__ import annotations

import getpass
import os
import re
import shutil
import tempfile
from pathlib import Path

LOCK = Path("data", "lock")
"""The file that a running server has locked, relative to the directory of its run."""


def prefix() -> str:
    """The start of the names of this user's directories. A process id and random letters follow.

    Process ids have a meaning only within their namespace: another container may share the directory for temporary
    files.
    """
    user = os.getuid() if hasattr(os, "getuid") else re.sub(r"\W", "_", getpass.getuser())
    return f"restante-py-{user}-{_namespace()}-"


def _namespace() -> str:
    """The number of the namespace of process ids, which Linux has."""
    try:
        return re.sub(r"\D", "", str(Path("/proc/self/ns/pid").readlink()))
    except OSError:
        return "0"


def remove_abandoned() -> None:
    """Removes the directories whose process has ended and whose server has too."""
    start = prefix()
    try:
        found = [path for path in Path(tempfile.gettempdir()).iterdir() if path.name.startswith(start)]
    except OSError:
        return
    for directory in found:
        owner = directory.name.removeprefix(start).split("-")[0]
        if owner.isdecimal() and not _is_running(int(owner)) and not _is_locked(directory / LOCK):
            shutil.rmtree(directory, ignore_errors=True)


def _is_running(pid: int) -> bool:
    if os.name == "nt":
        # A signal would end the process there.
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _is_locked(lock: Path) -> bool:
    """Whether a server uses the directory, for example one that has not yet seen the end of its process."""
    try:
        import fcntl
    except ImportError:
        return False
    try:
        with lock.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return False
