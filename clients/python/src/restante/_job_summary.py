"""The summary of a CI job on GitHub: a section for each test whose message did not arrive, with the explanation."""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path


def note_in_job_summary(title: str, cause: str, text: str, link: str | None = None) -> None:
    """Adds a section to the job's summary, if there is one. `link`: the page about the wait."""
    file = os.environ.get("GITHUB_STEP_SUMMARY")
    if not file:
        return
    # Four backticks, and the text has no run of as many, so that a mail cannot end the block.
    block = re.sub("`{4,}", "```", text)
    page = f"[What happened during this wait](<{link}>)\n\n" if link else ""
    section = f"### No mail: {_one_line(title)}\n\n{_one_line(cause)}\n\n{page}````text\n{block}\n````\n\n"
    # The summary is an addition: the report of the test has the same.
    with contextlib.suppress(OSError), Path(file).open("a", encoding="utf-8") as summary:
        summary.write(section)


def _one_line(text: str) -> str:
    """Text of a mail or a test on one line, without the characters that Markdown and HTML give a meaning."""
    return re.sub(r"[\\`*_\[\]<>#|&]", lambda found: f"&#{ord(found.group())};", " ".join(text.split()))
