"""`python -m restante init`: lets the application under test send its mail to the server of each pytest run.

It adds a setting to the configuration of pytest, for Django a fixture to `conftest.py`, and changes nothing if Restante
is used already.
"""

from __future__ import annotations

import re
from pathlib import Path

NAMES = ("SMTP_HOST", "SMTP_PORT")
"""The variables if the project names no others."""
FLASK_AND_FASTAPI_MAIL = ("MAIL_SERVER", "MAIL_PORT")
ENVIRONMENT_FILES = (".env", ".env.example", ".env.test", ".env.sample", ".env.dist")
PROJECT_FILES = ("pyproject.toml", "requirements.txt", "requirements-dev.txt", "setup.cfg", "Pipfile", "tox.ini")
SECTIONS = {
    "pytest.ini": "pytest",
    ".pytest.ini": "pytest",
    "pyproject.toml": r"tool\.pytest(?:\.ini_options)?",
    "tox.ini": "pytest",
    "setup.cfg": "tool:pytest",
}
"""The files with a configuration of pytest and its section, as a pattern; pytest reads the first one."""
HOST = re.compile(r"^(?:export )?((?:\w*_)?(?:SMTP|E?MAIL)_(?:HOST|SERVER|SMTP_HOST))=", re.MULTILINE)

SETTING = "# Restante: the application under test finds the SMTP server of each run in these variables.\n"
DJANGO = """
import pytest


# Restante: Django sends its mail to the server of this run. Its test environment would keep it in memory.
@pytest.fixture(autouse=True)
def mail_to_restante(restante_django):
    pass
"""


def init(directory: Path) -> str:
    """Writes the setting. Returns what was done, for the terminal."""
    conftests = [f"{folder}conftest.py" for folder in ("tests/", "")]
    for name in [*conftests, *SECTIONS]:
        if re.search(r"\brestante_", _read(directory, name)):
            return f"{name} uses Restante already. Nothing was changed."
    if (directory / "manage.py").exists() or "DJANGO_SETTINGS_MODULE" in _read(directory, "pytest.ini"):
        found = (name for name in conftests if (directory / name).exists())
        name = next(found, conftests[0] if (directory / "tests").is_dir() else conftests[1])
        before = _read(directory, name)
        # Without a second import of what the file imports.
        block = DJANGO.partition("pytest\n\n\n")[2] if re.search("^import pytest$", before, re.M) else DJANGO.lstrip()
        _write(directory / name, f"{before}\n\n{block}" if before else block)
        done = f"{name}: the application under test sends its mail to Restante."
    else:
        named = _named(directory)
        names = named or _usual(directory)
        name = _configure(directory, names)
        guessed = "" if named else ": change them to the names that it reads"
        done = (
            f"{name}: the application under test finds the SMTP server in {' and '.join(names)}, which are set before "
            f"conftest.py and the tests are imported{guessed}."
        )
    return (
        f"{done}\n"
        "In a test, use the fixture restante_inbox: restante_inbox.address, restante_inbox.wait_for_message().code()"
    )


def _configure(directory: Path, names: tuple[str, str]) -> str:
    """Adds the variables to the configuration of pytest. Returns the name of the file."""
    for name, section in SECTIONS.items():
        text = _read(directory, name).rstrip("\n") + "\n"
        if header := re.search(rf"^\[{section}\].*\n", text, re.MULTILINE):
            value = f'["{names[0]}", "{names[1]}"]' if name.endswith(".toml") else " ".join(names)
            setting = f"{SETTING}restante_smtp_variables = {value}\n"
            _write(directory / name, text[: header.end()] + setting + text[header.end() :])
            return name
    setting = f"[pytest]\n{SETTING}restante_smtp_variables = {' '.join(names)}\n"
    _write(directory / "pytest.ini", _read(directory, "pytest.ini") + setting)
    return "pytest.ini"


def _named(directory: Path) -> tuple[str, str] | None:
    """The variables that the project names for the host and the port."""
    for name in ENVIRONMENT_FILES:
        if found := HOST.search(_read(directory, name)):
            host = found.group(1)
            return host, re.sub("(HOST|SERVER)$", "PORT", host)
    return None


def _usual(directory: Path) -> tuple[str, str]:
    """The usual variables, if the project names none."""
    libraries = "".join(_read(directory, name) for name in PROJECT_FILES).lower().replace("_", "-")
    return FLASK_AND_FASTAPI_MAIL if "flask-mail" in libraries or "fastapi-mail" in libraries else NAMES


def _read(directory: Path, name: str) -> str:
    path = directory / name
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
