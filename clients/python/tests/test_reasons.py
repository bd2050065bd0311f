"""What a failed wait says, and where: Django's memory, the summary of a CI job, JUnit, a blocked event loop."""

import asyncio
import warnings
from pathlib import Path
from xml.etree import ElementTree

import pytest
from mail import mail

from restante import Restante, WaitTimeoutError

DJANGO = """
import django
import pytest
from django.conf import settings
from django.core import mail
from django.test.utils import setup_test_environment

settings.configure(DEFAULT_FROM_EMAIL="shop@app.example")
django.setup()
setup_test_environment()

def send(inbox):
    mail.send_mail("Confirm", "Your code is 482913.", None, [inbox.address])

def test_in_memory(restante_inbox):
    send(restante_inbox)
    restante_inbox.wait_for_message(timeout=0.2)

def test_over_smtp(restante_django, restante_inbox):
    send(restante_inbox)
    assert restante_inbox.wait_for_message().code() == "482913"

def test_in_memory_again():
    assert "locmem" in settings.EMAIL_BACKEND
"""
NOTHING = """
def test_nothing_comes(restante_inbox):
    restante_inbox.wait_for_message("*confirm*", timeout=0.2)
"""


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")

    def run(test: str, *options: str) -> pytest.RunResult:
        pytester.makepyfile(test)
        return pytester.runpytest_subprocess("-p", "restante.pytest_plugin", *options, timeout=300)

    return run


def test_django_keeps_mail_in_memory_without_the_fixture(run) -> None:  # type: ignore[no-untyped-def]
    result = run(DJANGO)
    result.assert_outcomes(passed=2, failed=1)
    kept = "E *Django keeps its mail in memory * It keeps 1 message to this address * restante_django*"
    # The cause comes first.
    result.stdout.fnmatch_lines([kept, "E *Nothing has connected over SMTP*"])


def test_a_ci_job_and_junit_have_the_reason(  # type: ignore[no-untyped-def]
    run, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    summary = pytester.path / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    run(NOTHING, "--junit-xml=junit.xml").assert_outcomes(failed=1)
    properties = ElementTree.parse(pytester.path / "junit.xml").iter("property")
    found = {one.get("name"): one.get("value") or "" for one in properties}
    assert found["why no message arrived"].startswith("Nothing has connected over SMTP")
    assert "/failures/" in found["what happened during the wait"]
    section = summary.read_text()
    assert "### No mail: test&#95;a&#95;ci&#95;job" in section
    assert "Nothing has connected over SMTP" in section
    assert f"(<{found['what happened during the wait']}>)" in section


LATE = """
import smtplib

def test_the_wait_is_too_short(restante, restante_inbox):
    try:
        restante_inbox.wait_for_message(re.compile("conf", re.I), timeout=0.2)
    finally:
        with smtplib.SMTP(restante.smtp.host, restante.smtp.port) as smtp:
            smtp.sendmail("a@app.example", restante_inbox.address, "Subject: Confirm")
"""


def test_a_report_says_that_the_message_came_after_the_wait(run) -> None:  # type: ignore[no-untyped-def]
    for filters in ("", '"confirm", ', 're.compile("conf", re.I), '):
        result = run("import re" + LATE.replace('re.compile("conf", re.I), ', filters))
        result.stdout.fnmatch_lines(
            [
                "E *Nothing has connected*",
                "*mail of this test*",
                "*essage arrived * after the wait had ended: *Use a timeout *",
            ]
        )


def test_without_a_ci_job_nothing_is_written(run, pytester: pytest.Pytester) -> None:  # type: ignore[no-untyped-def]
    run(NOTHING).assert_outcomes(failed=1)
    assert [path.name for path in pytester.path.iterdir() if path.suffix in (".md", ".xml")] == []


def test_a_synchronous_wait_in_an_event_loop_warns(client: Restante) -> None:
    inbox = client.create_inbox()
    mail(client.smtp, inbox.address, "Hello")

    async def blocked() -> None:
        inbox.wait_for_message()

    with pytest.warns(RuntimeWarning, match="blocks the event loop") as found:
        asyncio.run(blocked())
    assert Path(found[0].filename).name == Path(__file__).name, "the line of the test"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        inbox.wait_for_message(after=None)


def test_an_error_links_to_the_page_about_the_wait(client: Restante) -> None:
    inbox = client.create_inbox(label="a test: äöü with a title")
    with pytest.raises(WaitTimeoutError) as error:
        inbox.wait_for_message(timeout=0.1)
    assert "/failures/" in str(error.value.link)
    assert f"What happened during this wait: {error.value.link}" in str(error.value)
    assert "a test: äöü with a title" in str(error.value)
