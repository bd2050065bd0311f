"""Writes the synchronous client from the asynchronous one. With `--check`, fails if it is not current.

Edit `_async_client.py` and run this with the Python of `target/python`, which has ruff. The two transports are written
by hand, because only the synchronous one keeps its connections.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

PACKAGE = Path(__file__).parent / "src" / "restante"
SOURCE, TARGET = PACKAGE / "_async_client.py", PACKAGE / "_client.py"
NOTE = f"# {Path(__file__).name} has written this file from {SOURCE.name}: edit that one.\n"

# What differs, and nothing else may: patterns and their replacements, in this order.
RULES = [
    (
        r"The client for async code, for asyncio and trio\.",
        "The client for synchronous code: `Restante`, its inboxes and their messages. For async code, see "
        "`_async_client`.",
    ),
    (r"May be used in one event loop after another\.", "May be shared by threads."),
    (r"\bAsync(?=[A-Z])", ""),
    (r"\basync (?=def |with |for |with`)", ""),
    (r"\bawait ", ""),
    (r"\b__a(?=enter__|exit__)", "__"),
    (r"\baclose\b", "close"),
]


def generated() -> str:
    """The synchronous client."""
    text = SOURCE.read_text(encoding="utf-8")
    for pattern, replacement in RULES:
        text, count = re.subn(pattern, replacement, text)
        if count == 0:
            sys.exit(f"{SOURCE.name} has no {pattern!r}: change the rule in {Path(__file__).name}, or remove it")
    command = [sys.executable, "-m", "ruff", "format", "--quiet", "--stdin-filename", str(TARGET), "-"]
    return subprocess.run(command, input=NOTE + text, stdout=subprocess.PIPE, encoding="utf-8", check=True).stdout


def main() -> None:
    """Writes or checks the file."""
    text = generated()
    if sys.argv[1:] != ["--check"]:
        TARGET.write_text(text, encoding="utf-8")
    elif TARGET.read_text(encoding="utf-8") != text:
        sys.exit(f"{TARGET.name} is not current: run clients/python/{Path(__file__).name}")


if __name__ == "__main__":
    main()
