"""`python -m restante init`."""

import subprocess
import sys
from pathlib import Path

import pytest

README = Path(__file__).parent.parent / "README.md"


def init(directory: Path) -> str:
    command = [sys.executable, "-m", "restante", "init"]
    return subprocess.run(command, cwd=directory, check=True, capture_output=True, text=True).stdout


def conftest(directory: Path, name: str = "conftest.py") -> str:
    return (directory / name).read_text()


def test_a_new_conftest_sets_the_variables_of_the_project(tmp_path: Path) -> None:
    (tmp_path / ".env.example").write_text("DEBUG=1\nAPP_MAIL_HOST=localhost\nAPP_MAIL_PORT=25\n")
    assert "It sets APP_MAIL_HOST and APP_MAIL_PORT.\n" in init(tmp_path)
    written = conftest(tmp_path)
    assert 'os.environ["APP_MAIL_HOST"] = restante.smtp.host' in written
    assert "Nothing was changed" in init(tmp_path)
    assert conftest(tmp_path) == written


def test_a_conftest_is_kept_and_added_to(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    before = '"""Fixtures."""\n\nimport os\nfrom app import create_app\n\n\ndef helper():\n    return os.name\n'
    (tmp_path / "tests" / "conftest.py").write_text(before)
    assert "It sets SMTP_HOST and SMTP_PORT: change them to the names that it reads.\n" in init(tmp_path)
    written = conftest(tmp_path, "tests/conftest.py")
    assert all(line in written for line in before.splitlines())
    assert written.count("import os\n") == 1
    assert written.index("import pytest") < written.index("def helper")
    assert "SMTP_HOST" in written
    compile(written, "conftest.py", "exec")


def test_django_has_its_own_fixture(tmp_path: Path) -> None:
    (tmp_path / "manage.py").write_text("")
    init(tmp_path)
    assert "def mail_to_restante(restante_django):" in conftest(tmp_path)
    assert "os.environ" not in conftest(tmp_path)


def test_the_written_fixture_works(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    init(pytester.path)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makepyfile("""
        import os, smtplib

        def test_mail(restante_inbox):
            with smtplib.SMTP(os.environ["SMTP_HOST"], int(os.environ["SMTP_PORT"])) as smtp:
                smtp.sendmail("a@app.example", restante_inbox.address, "Subject: Hi\\r\\n\\r\\nYour code is 482913.")
            assert restante_inbox.wait_for_message().code() == "482913"
    """)
    pytester.runpytest_subprocess("-p", "restante.pytest_plugin", timeout=300).assert_outcomes(passed=1)


def test_the_readme_has_no_links_that_a_registry_cannot_follow() -> None:
    links = [part.split(")")[0] for part in README.read_text().split("](")[1:]]
    assert [link for link in links if not link.startswith(("https://", "#"))] == []
