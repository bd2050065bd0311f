"""Finds the `restante` binary: the one in this package, or an installed one."""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

from .errors import UnreachableError

NAME = "restante" + (sysconfig.get_config_var("EXE") or "")


def find_binary() -> str:
    """The path in `RESTANTE_BIN`, of the packaged binary, or of `restante` on PATH."""
    if chosen := os.environ.get("RESTANTE_BIN"):
        return chosen
    found = next((str(path) for path in _packaged() if path.is_file()), None) or shutil.which("restante")
    if found is None:
        raise UnreachableError(
            "There is no Restante server to start: this package has none for this platform, and `restante` is not on "
            "PATH. Install it and set RESTANTE_BIN, or set RESTANTE_URL to a running server."
        )
    return found


def _packaged() -> Iterator[Path]:
    """The directories where installers put the programs of a wheel."""
    yield Path(sysconfig.get_path("scripts"), NAME)
    if (scheme := sysconfig.get_preferred_scheme("user")) in sysconfig.get_scheme_names():
        yield Path(sysconfig.get_path("scripts", scheme=scheme), NAME)
    # pip install --target
    yield Path(__file__).parent.parent / "bin" / NAME
    yield Path(sys.prefix, "bin", NAME)
