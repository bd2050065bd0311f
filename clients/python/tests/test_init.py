"""`python -m restante init`."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from restante._init import SETTING

README = Path(__file__).parent.parent / "README.md"


def init(directory: Path) -> str:
    command = [sys.executable, "-m", "restante", "init"]
    return subprocess.run(command, cwd=directory, check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize(
    ("name", "before", "written"),
    [
        ("pytest.ini", "", "[pytest]\n{}restante_smtp_variables = APP_MAIL_HOST APP_MAIL_PORT\n"),
        (
            "tox.ini",
            "[tox]\n\n[pytest]\naddopts = -q",
            "[tox]\n\n[pytest]\n{}restante_smtp_variables = APP_MAIL_HOST APP_MAIL_PORT\naddopts = -q\n",
        ),
        (
            "pyproject.toml",
            '[tool.pytest.ini_options]\naddopts = "-q"\n\n[tool.other]\n',
            '[tool.pytest.ini_options]\n{}restante_smtp_variables = ["APP_MAIL_HOST", "APP_MAIL_PORT"]\n'
            'addopts = "-q"\n\n[tool.other]\n',
        ),
    ],
)
def test_the_configuration_gets_the_variables_of_the_project(
    tmp_path: Path, name: str, before: str, written: str
) -> None:
    (tmp_path / ".env.example").write_text("DEBUG=1\nAPP_MAIL_HOST=localhost\nAPP_MAIL_PORT=25\n")
    if before:
        (tmp_path / name).write_text(before)
    assert f"{name}: the application under test finds the SMTP server in APP_MAIL_HOST and APP_MAIL" in init(tmp_path)
    assert (tmp_path / name).read_text() == written.format(SETTING)
    assert "Nothing was changed" in init(tmp_path)
    assert (tmp_path / name).read_text() == written.format(SETTING)


def test_a_new_name_is_to_be_changed(tmp_path: Path) -> None:
    assert "in SMTP_HOST and SMTP_PORT, which are set before conftest.py and the tests are imported: cha" in init(
        tmp_path
    )


def test_django_has_its_own_fixture(tmp_path: Path) -> None:
    (tmp_path / "manage.py").write_text("")
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "conftest.py").write_text('"""Fixtures."""\n\nimport pytest\n\nNAME = 1\n')
    init(tmp_path)
    written = (tmp_path / "tests" / "conftest.py").read_text()
    assert "def mail_to_restante(restante_django):" in written
    assert written.count("import pytest\n") == 1
    compile(written, "conftest.py", "exec")
    assert not (tmp_path / "pytest.ini").exists()
    assert "Nothing was changed" in init(tmp_path)


APPLICATION = """
import os, smtplib

SERVER = os.environ["SMTP_HOST"], int(os.environ["SMTP_PORT"])

def send(to):
    with smtplib.SMTP(*SERVER) as smtp:
        smtp.sendmail("a@app.example", to, "Subject: Hi\\r\\n\\r\\nYour code is 482913.")
"""
TEST = """
import pytest

@pytest.mark.parametrize("number", range(4))
def test_mail(restante_inbox, number):
    app.send(restante_inbox.address)
    assert restante_inbox.wait_for_message().code() == "482913"
"""


@pytest.mark.parametrize("workers", ["0", "2"])
def test_an_application_may_read_its_settings_when_it_is_imported(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, workers: str
) -> None:
    init(pytester.path)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTHONPATH", str(pytester.path), prepend=os.pathsep)
    pytester.makepyfile(app=APPLICATION, conftest="import app", test_mail=f"import app\n{TEST}")
    plugins = ("-p", "restante.pytest_plugin", "-p", "xdist.plugin", "-n", workers)
    pytester.runpytest_subprocess(*plugins, timeout=300).assert_outcomes(passed=4)


def test_without_the_variables_the_report_says_how_to_set_them(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    test = "def test_it(restante_inbox): restante_inbox.wait_for_message(timeout=0.1)"
    hint = "*restante_smtp_variables*python -m restante init*"
    for settings, shown in ("", True), ("restante_smtp_variables = A B", False):
        pytester.makeini(f"[pytest]\n{settings}")
        pytester.makepyfile(test)
        result = pytester.runpytest_subprocess("-p", "restante.pytest_plugin", timeout=300)
        (result.stdout.fnmatch_lines if shown else result.stdout.no_fnmatch_line)(hint)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ("restante_smtp_variables = SMTP", "ERROR: restante_smtp_variables must be two names, not SMTP"),
        ("restante_smtp_variables = A B\nrestante_url = shop", "ERROR: The address of the server *: shop"),
    ],
)
def test_a_mistake_in_the_settings_is_said(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, settings: str, said: str
) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makeini(f"[pytest]\n{settings}")
    pytester.runpytest_subprocess("-p", "restante.pytest_plugin", timeout=300).stderr.fnmatch_lines([said])


def test_the_readme_has_no_links_that_a_registry_cannot_follow() -> None:
    links = [part.split(")")[0] for part in README.read_text().split("](")[1:]]
    assert [link for link in links if not link.startswith(("https://", "#"))] == []
