"""Warns if a wait of the synchronous client blocks an event loop, which may have to send the mail."""

from __future__ import annotations

import asyncio
import inspect
import sys
import warnings
from pathlib import Path

PACKAGE = str(Path(__file__).parent)
TEXT = (
    "This wait blocks the event loop that runs this test, so an application in the same loop cannot send its mail. "
    "Use AsyncRestante, or the fixture restante_async_inbox, and await the wait."
)


def warn_in_event_loop() -> None:
    """Warns at the line of the caller, if it runs in a task of asyncio or trio."""
    if _in_task():
        warnings.warn(TEXT, RuntimeWarning, stacklevel=_depth_of_caller())


def _in_task() -> bool:
    try:
        # Playwright's synchronous interface has a running loop, but calls a test outside its tasks.
        return asyncio.current_task() is not None
    except RuntimeError:
        trio = sys.modules.get("trio")
        return trio is not None and trio.lowlevel.in_trio_run()


def _depth_of_caller() -> int:
    """How many frames of this package are above the caller."""
    depth, frame = 1, inspect.currentframe()
    frame = frame.f_back if frame else None
    while frame is not None and frame.f_back is not None and frame.f_code.co_filename.startswith(PACKAGE):
        frame, depth = frame.f_back, depth + 1
    return depth
