"""`python -m restante` is the command `restante`, with one more: `init`."""

import os
import subprocess
import sys
from pathlib import Path

from ._binary import find_binary
from ._init import init
from .errors import RestanteError


def main() -> int:
    """Runs the program with the same arguments, or `init`."""
    if sys.argv[1:2] == ["init"]:
        print(init(Path.cwd()))
        return 0
    try:
        command = [find_binary(), *sys.argv[1:]]
    except RestanteError as error:
        print(f"restante: {error}", file=sys.stderr)
        return 2
    if os.name != "nt":
        os.execv(command[0], command)  # noqa: S606
    # On Windows, exec would return to the shell before the program ends.
    try:
        return subprocess.run(command, check=False).returncode  # noqa: S603
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
