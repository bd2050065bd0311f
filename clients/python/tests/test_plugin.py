"""The pytest plugin, as a user has it: each test runs its own pytest on its own project."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from html import unescape

import pytest
from watched import Watched

from restante import NotFoundError, Restante, Server
from restante._connection import connect
from restante._report import MailReport

MAIL = """
import os
import smtplib
from email.message import EmailMessage

import pytest

def mail(restante, to, subject, text="Your code is 482913.\\nhttps://app.example/confirm?token=abc"):
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = "shop@app.example", to, subject
    message.set_content(text)
    with smtplib.SMTP(restante.smtp.host, restante.smtp.port) as smtp:
        smtp.send_message(message)
"""
NOTE = """
def note(restante):
    with open(os.environ["TMPDIR"] + "/urls", "a") as file:
        file.write(restante.url + "\\n")
"""
Run = Callable[..., pytest.RunResult]


def noted(watched: Watched) -> set[str]:
    """The servers that tests had."""
    return set((watched.temporary / "urls").read_text().split())


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs pytest on a file in its own process."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")

    def run(test: str, *options: str, plugins: str = "") -> pytest.RunResult:
        pytester.makepyfile(MAIL + NOTE + test)
        loaded = [part for name in ["restante.pytest_plugin", *plugins.split()] for part in ("-p", name)]
        return pytester.runpytest_subprocess(*loaded, *options, timeout=300)

    return run


def test_a_fixture_starts_a_server_and_gives_an_inbox(run: Run) -> None:
    result = run("""
def test_sign_up(restante, restante_inbox):
    mail(restante, restante_inbox.address, "Confirm your account")
    message = restante_inbox.wait_for_message("confirm")
    assert message.code() == "482913"
    assert message.link("/confirm") == "https://app.example/confirm?token=abc"
""")
    result.assert_outcomes(passed=1)


def test_no_server_is_started_for_tests_that_do_not_use_it(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RESTANTE_BIN", "/nowhere/restante")
    run("def test_nothing(): pass").assert_outcomes(passed=1)


def test_a_server_that_cannot_start_says_so(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RESTANTE_BIN", "/nowhere/restante")
    result = run("def test_it(restante_inbox): pass")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*UnreachableError: RESTANTE_BIN=/nowhere/restante does not start: No such file*"])


def test_the_inbox_of_a_user_is_not_deleted_and_shows_no_earlier_mail(run: Run) -> None:
    result = run("""
def test_earlier(restante, restante_inbox_for):
    mail(restante, restante_inbox_for("ada@example.com").address, "Earlier")

def test_later(restante, restante_inbox_for):
    ada = restante_inbox_for("ada@example.com")
    assert [message.subject for message in ada.messages()] == ["Earlier"]
    mail(restante, ada.address, "Later")
    assert ada.wait_for_message().subject == "Later"

def test_fails(restante, restante_inbox_for):
    ada = restante_inbox_for("ada@example.com")
    mail(restante, ada.address, "Shown in the report")
    assert ada.wait_for_message().subject == "Other"
""")
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["*mail of this test*", "*Shown in the report*"])


def test_two_inboxes(run: Run) -> None:
    result = run("""
def test_two(restante, restante_new_inbox):
    one, other = restante_new_inbox(), restante_new_inbox()
    mail(restante, other.address, "For the other")
    assert other.wait_for_message().subject == "For the other"
    one.expect_no_message(within=0.1)
""")
    result.assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("plugins", "marker"),
    [("anyio", "pytest.mark.anyio"), ("pytest_asyncio.plugin", "pytest.mark.asyncio")],
    ids=["anyio", "pytest-asyncio"],
)
def test_async_tests(run: Run, plugins: str, marker: str) -> None:
    result = run(
        f"""
@{marker}
@pytest.mark.parametrize("number", [1, 2])
async def test_async(restante, restante_async_inbox, number):
    mail(restante, restante_async_inbox.address, "Hello")
    assert (await restante_async_inbox.wait_for_message()).code() == "482913"
""",
        "-Wignore::pytest.PytestDeprecationWarning",
        plugins=plugins,
    )
    assert result.ret == 0


def test_the_marker_sets_how_long_waits_last(run: Run) -> None:
    result = run(
        """
@pytest.mark.restante(timeout=0.1)
def test_it(restante_inbox):
    restante_inbox.wait_for_message()
""",
        "--strict-markers",
    )
    result.stdout.fnmatch_lines(["E*No message arrived at *@restante.example.com within 0.1 s.*"])


def test_the_environment_comes_before_the_ini_file(
    run: Run, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytester.makeini("[pytest]\nrestante_timeout = 0.2\nrestante_url = http://127.0.0.1:9")
    monkeypatch.setenv("RESTANTE_TIMEOUT", "0.1")
    result = run("""
def test_it(restante_inbox):
    restante_inbox.wait_for_message()
""")
    result.stdout.fnmatch_lines(["*UnreachableError: Cannot connect to Restante at http://127.0.0.1:9 *"])
    monkeypatch.delenv("RESTANTE_TIMEOUT")
    pytester.makeini("[pytest]\nrestante_timeout = 0.2")
    run("""
def test_it(restante_inbox):
    restante_inbox.wait_for_message()
""").stdout.fnmatch_lines(["E*within 0.2 s.*"])


def test_a_time_limit_that_is_no_number_is_named(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RESTANTE_TIMEOUT", "soon")
    result = run("def test_nothing(): pass")
    result.stderr.fnmatch_lines(["ERROR: restante_timeout must be a number of seconds, not soon"])


def test_options_name_a_server_that_runs(run: Run, server: Server) -> None:
    result = run(
        f"""
def test_it(restante):
    assert restante.url == {server.started.url!r}
    assert restante.create_inbox()
""",
        f"--restante-url={server.started.url}",
        f"--restante-api-key={server.api_key}",
    )
    result.assert_outcomes(passed=1)


def test_an_inbox_is_deleted_when_its_test_has_passed_and_stays_when_it_has_failed(
    run: Run, server: Server, client: Restante
) -> None:
    result = run(
        """
def test_passes(restante_inbox):
    print("passed", restante_inbox.id)

def test_fails(restante_inbox):
    print("failed", restante_inbox.id)
    raise AssertionError
""",
        f"--restante-url={server.started.url}",
        f"--restante-api-key={server.api_key}",
        "-rP",
    )
    ids = dict(line.split() for line in result.outlines if line.startswith(("passed ", "failed ")))
    assert client.inbox(ids["failed"]).id == ids["failed"]
    with pytest.raises(NotFoundError):
        client.inbox(ids["passed"])


FAILING = """
def test_wrong_subject(restante, restante_inbox):
    mail(restante, restante_inbox.address, "Welcome to the shop")
    restante_inbox.wait_for_message("confirm", timeout=0.2)
"""


def test_the_report_of_a_failed_test_has_its_mail(run: Run) -> None:
    result = run(FAILING)
    result.stdout.fnmatch_lines(
        [
            ">   *restante_inbox.wait_for_message(*",
            'E   *WaitTimeoutError: No message with subject "confirm" arrived at *@restante.example.com within 0.2 s.',
            'E   *Expected subject "confirm"; arrived: "Welcome to the shop" from shop@app*',
            "E   *What happened during this wait: http://restante.localhost:*/failures/* (*), until the run ends",
            "*- mail of this test -*",
            "*@restante.example.com: 1 message, http://127.0.0.1:*/inboxes/*",
            '  "Welcome to the shop" from shop@app.example at *',
            "    code 482913",
            "    link https://app.example/confirm?token=abc",
            "  timeline:",
            "    *created*",
            "    *An SMTP session of 127.0.0.1*",
        ],
        consecutive=False,
    )
    # The section of the mail does not repeat the error. (In CI, pytest's own summary does.)
    section = result.stdout.str().partition("- mail of this test -")[2].partition("short test summary")[0]
    assert "Change the filter" not in section
    # The frames of the client are of no use to the reader.
    assert "_waits.py" not in result.stdout.str()
    assert "rst_live_" not in result.stdout.str()


def test_no_report_shows_the_key(run: Run) -> None:
    result = run(FAILING, "--showlocals", "--full-trace")
    assert "_waits.py" in result.stdout.str()
    assert "rst_live_0" not in result.stdout.str()
    assert not [line for line in result.outlines if "rst_live_" in line and "rst_live_…" not in line]


def test_the_report_says_why_nothing_came(run: Run) -> None:
    result = run("""
def test_nothing_came(restante_inbox):
    assert restante_inbox.messages(), "no mail"
""")
    result.stdout.fnmatch_lines(["*@restante.example.com: no messages, *", "  Nothing has connected over SMTP since *"])


def test_the_report_has_the_last_messages_of_an_inbox_with_many(run: Run) -> None:
    result = run("""
def test_many(restante, restante_inbox):
    for number in range(12):
        mail(restante, restante_inbox.address, f"Number {number}")
    raise AssertionError
""")
    result.stdout.fnmatch_lines(
        ["*@restante.example.com: the last 10 messages, *", '  "Number 11" *', '  "Number 2" *']
    )
    result.stdout.no_fnmatch_line('  "Number 1" *')


def test_an_inbox_that_was_deleted_does_not_hide_the_others(run: Run) -> None:
    result = run("""
def test_two(restante, restante_new_inbox):
    restante_new_inbox().delete()
    kept = restante_new_inbox()
    mail(restante, kept.address, "Welcome to the shop")
    kept.wait_for_message()
    raise AssertionError
""")
    result.stdout.fnmatch_lines(
        [
            "*@restante.example.com: 1 message, *",
            '  "Welcome to the shop" *',
            "  timeline:",
            "Cannot read the mail of *@restante.example.com: *404 inbox not found*",
        ]
    )


def test_a_message_that_was_deleted_does_not_hide_the_others(server: Server, client: Restante) -> None:
    inbox = client.create_inbox()
    for subject in ("Welcome", "Receipt"):
        inbox.send(inbox.address, subject, text="Hello")
    connection = replace(connect(None, None, None, server), server=None)
    with contextlib.closing(MailReport(connection, [inbox.address], None)) as report:
        inbox.messages()[0].delete()
        assert [part.name for part in report.attachments() if part.kind == "html"] == ["Welcome"]


def test_pytest_html_gets_the_mail(run: Run, pytester: pytest.Pytester) -> None:
    run(FAILING, "--html=report.html", "--self-contained-html", plugins="pytest_metadata.plugin pytest_html.plugin")
    report = unescape((pytester.path / "report.html").read_text())
    assert "<iframe sandbox" in report
    assert "Content-Security-Policy" in report
    assert "Welcome to the shop.eml" in report


def test_allure_gets_the_mail(run: Run, pytester: pytest.Pytester) -> None:
    run(FAILING, "--alluredir=allure", plugins="allure_pytest.plugin")
    results = [json.loads(path.read_text()) for path in (pytester.path / "allure").glob("*-result.json")]
    attached = {part["name"]: part["source"] for part in results[0]["attachments"]}
    assert "Welcome to the shop" in attached
    assert "482913" in (pytester.path / "allure" / attached["Welcome to the shop: codes and links"]).read_text()
    assert "From: shop@app.example" in (pytester.path / "allure" / attached["Welcome to the shop.eml"]).read_text()
    [timeline] = [source for name, source in attached.items() if name.startswith("timeline of ")]
    text = (pytester.path / "allure" / timeline).read_text()
    assert "\n    RCPT TO:<" in text
    assert "/failures/" in text


def test_all_workers_of_xdist_share_one_server(run: Run, watched: Watched) -> None:
    result = run(
        """
@pytest.mark.parametrize("number", range(40))
def test_parallel(restante, restante_inbox, number):
    note(restante)
    mail(restante, restante_inbox.address, f"Number {number}")
    assert restante_inbox.wait_for_message().subject == f"Number {number}"
""",
        "-n8",
        plugins="xdist.plugin",
    )
    result.assert_outcomes(passed=40)
    assert len(noted(watched)) == 1
    watched.wait_until_ended()
    assert watched.left() == []


def test_each_worker_of_xdist_says_why_there_is_no_server(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RESTANTE_SMTP_LISTEN", "127.0.0.1:99999")
    result = run(
        """
@pytest.mark.parametrize("number", range(2))
def test_it(restante_inbox, number): pass
""",
        "-n2",
        plugins="xdist.plugin",
    )
    result.assert_outcomes(errors=2)
    said = "E *UnreachableError: The Restante server did not start: *'127.0.0.1:99999'*"
    result.stdout.fnmatch_lines([said, said])


def test_the_server_outlives_a_worker_that_crashes(run: Run, watched: Watched) -> None:
    result = run(
        """
@pytest.mark.parametrize("number", range(6))
def test_crash(restante, restante_inbox, number):
    note(restante)
    if number == 2:
        os.kill(os.getpid(), 9)
    mail(restante, restante_inbox.address, "Hello")
    restante_inbox.wait_for_message()
""",
        "-n2",
        plugins="xdist.plugin",
    )
    result.assert_outcomes(passed=5, failed=1)
    assert len(noted(watched)) == 1
    watched.wait_until_ended()
    assert watched.left() == []


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("signal_number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=["INT", "TERM", "KILL"])
def test_no_server_is_left_when_the_runner_ends(
    pytester: pytest.Pytester, watched: Watched, signal_number: int, workers: int
) -> None:
    pytester.makepyfile(f"""
def test_long(restante_inbox):
    open({str(watched.ready)!r}, "w").close()
    restante_inbox.wait_for_message(timeout=60)
""")
    plugins = ["-p", "restante.pytest_plugin", "-p", "xdist.plugin", f"-n{workers}"]
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    runner = subprocess.Popen(
        [sys.executable, "-m", "pytest", *plugins],
        cwd=pytester.path,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        # A shell ignores Ctrl-C for what it runs in the background, and children would, too.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    watched.wait_until_ready()
    # A terminal sends Ctrl-C to the whole group; the others go to the runner alone.
    if signal_number == signal.SIGINT:
        os.killpg(runner.pid, signal_number)
    else:
        runner.send_signal(signal_number)
    runner.wait(100)
    watched.wait_until_ended()
    assert watched.left() == []


def test_the_data_of_the_server_goes_with_it(run: Run, watched: Watched) -> None:
    run("def test_it(restante_inbox): pass")
    watched.wait_until_ended()
    assert watched.left() == []
