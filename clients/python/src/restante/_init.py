"""`python -m restante init`: lets the application under test send its mail to the server of each pytest run.

It writes a fixture to `conftest.py`, and changes nothing if one is there.
"""

from __future__ import annotations

import re
from pathlib import Path

MARK = "# Restante: "
NAMES = ("SMTP_HOST", "SMTP_PORT")
"""The variables if the project names no others."""
FLASK_AND_FASTAPI_MAIL = ("MAIL_SERVER", "MAIL_PORT")
ENVIRONMENT_FILES = (".env", ".env.example", ".env.test", ".env.sample", ".env.dist")
PROJECT_FILES = ("pyproject.toml", "requirements.txt", "requirements-dev.txt", "setup.cfg", "Pipfile", "tox.ini")
HOST = re.compile(r"^(?:export )?((?:\w*_)?(?:SMTP|E?MAIL)_(?:HOST|SERVER|SMTP_HOST))=", re.MULTILINE)

DJANGO = """{mark}Django sends its mail to the server of this run. Its test environment would keep it in memory.
@pytest.fixture(autouse=True)
def mail_to_restante(restante_django):
    pass
"""
OTHER = """{mark}the application under test finds the SMTP server of this run in these variables.
@pytest.fixture(scope="session", autouse=True)
def mail_to_restante(restante):
    os.environ["{host}"] = restante.smtp.host
    os.environ["{port}"] = str(restante.smtp.port)
"""


def init(directory: Path) -> str:
    """Writes the fixture. Returns what was done, for the terminal."""
    found = [path for path in (directory / "tests" / "conftest.py", directory / "conftest.py") if path.exists()]
    for path in found:
        if "restante" in path.read_text(encoding="utf-8"):
            return f"{path.relative_to(directory)} uses Restante already. Nothing was changed."
    path = found[0] if found else _new_conftest(directory)
    is_django = (directory / "manage.py").exists() or "DJANGO_SETTINGS_MODULE" in _read(directory, "pytest.ini")
    named = _named(directory)
    names = named or _usual(directory)
    block = DJANGO.format(mark=MARK) if is_django else OTHER.format(mark=MARK, host=names[0], port=names[1])
    imports = ["pytest"] if is_django else ["os", "pytest"]
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    path.parent.mkdir(exist_ok=True)
    path.write_text(_with_imports(before, imports) + block, encoding="utf-8")
    guessed = "" if named else ": change them to the names that it reads"
    reads = "" if is_django else f" It sets {names[0]} and {names[1]}{guessed}."
    return (
        f"{path.relative_to(directory)}: the application under test sends its mail to Restante.{reads}\n"
        "In a test, use the fixture restante_inbox: restante_inbox.address, restante_inbox.wait_for_message().code()"
    )


def _new_conftest(directory: Path) -> Path:
    tests = directory / "tests"
    return (tests if tests.is_dir() else directory) / "conftest.py"


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


def _with_imports(text: str, modules: list[str]) -> str:
    """The text with the missing imports before its first import, or at its end, and an empty line after it."""
    missing = [name for name in modules if not re.search(rf"^import {name}$", text, re.MULTILINE)]
    lines = "".join(f"import {name}\n" for name in missing)
    first = re.search(r"^(?:import|from) (?!__future__)", text, re.MULTILINE)
    if first and lines:
        text = text[: first.start()] + lines + text[first.start() :]
    elif lines:
        text += ("\n" if text else "") + lines
    return text.rstrip("\n") + "\n\n\n"
