"""The pytest plugin: fixtures that give a test its inboxes, and a report of their mail when the test fails."""

from __future__ import annotations

import contextlib
import os
import secrets
import sys
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field, replace

import pytest

from ._async_client import AsyncInbox, AsyncSession
from ._client import Inbox, Restante
from ._connection import Connection, connect
from ._django import smtp_settings
from ._job_summary import note_in_job_summary
from ._report import MailReport, attach_to_allure, html_extras
from .errors import RestanteError
from .server import Server

RUN = "RESTANTE_RUN"
"""The variable with the name of the server of this run, and the process that it belongs to."""
SMTP_VARIABLES = "restante_smtp_variables"
HINT = (
    "If the application reads its SMTP server when it is imported, set the variables before, with "
    f"{SMTP_VARIABLES} in the configuration of pytest: `python -m restante init`."
)
MARKER = "restante(timeout=seconds): how long the waits of this test last"


@dataclass
class TestMail:
    """The inboxes that fixtures have created for one test."""

    __test__ = False

    inboxes: list[Inbox] = field(default_factory=list[Inbox])
    own: list[Inbox] = field(default_factory=list[Inbox])
    """Those that are deleted when the test has passed."""
    has_failed: bool = False
    properties: list[tuple[str, object]] = field(default_factory=list[tuple[str, object]])


CONNECTION = pytest.StashKey[Connection]()
MAIL = pytest.StashKey[TestMail]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options; each also has an environment variable."""
    group = parser.getgroup("restante", "temporary inboxes")
    group.addoption("--restante-url", metavar="URL", help="the Restante server; by default one is started")
    group.addoption("--restante-api-key", metavar="KEY", help="the API key; by default that of the started server")
    parser.addini("restante_url", "URL of the Restante server; by default one is started for the run")
    parser.addini("restante_timeout", "how long a wait lasts, in seconds (30)")
    parser.addini(SMTP_VARIABLES, "the variables that get the host and the port of the SMTP server", "args", [])


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Sets the variables with the SMTP server, before conftest.py and the tests import the application."""
    names: list[str] = early_config.getini(SMTP_VARIABLES)
    if not names:
        return
    if len(names) != 2:
        raise pytest.UsageError(f"{SMTP_VARIABLES} must be two names, not {' '.join(names)}")
    try:
        smtp = _connection(early_config).smtp
    except RestanteError as error:
        raise pytest.UsageError(str(error)) from None
    os.environ.update(zip(names, (smtp.host, str(smtp.port)), strict=True))


def pytest_configure(config: pytest.Config) -> None:
    """Checks the settings. The server is started when a test first needs it."""
    config.addinivalue_line("markers", MARKER)
    _timeout_of_run(config)
    _run()


def _run() -> tuple[str, int]:
    """The name of the server of this run, and the process that it belongs to. Workers of xdist find both."""
    name, owner = os.environ.setdefault(RUN, f"pytest-{secrets.token_hex(8)} {os.getpid()}").split()
    return name, int(owner)


def _timeout_of_run(config: pytest.Config) -> float | None:
    text = os.environ.get("RESTANTE_TIMEOUT") or config.getini("restante_timeout") or None
    try:
        return None if text is None else float(text)
    except ValueError:
        raise pytest.UsageError(f"restante_timeout must be a number of seconds, not {text}") from None


def _connection(config: pytest.Config) -> Connection:
    """The server of the settings, or that of this run, which the first process that needs it starts."""
    if CONNECTION not in config.stash:
        url = _option(config, "restante_url") or os.environ.get("RESTANTE_URL") or config.getini("restante_url")
        key = _option(config, "restante_api_key")
        name, owner = _run()
        # A worker of xdist may crash. Then the server goes on, because it belongs to the process that the user started.
        owned = () if owner == os.getpid() else ("--owner", str(owner))
        server = None if url else Server("--shared", name, *owned, api_key=key)
        config.stash[CONNECTION] = connect(url, key, _timeout_of_run(config), server)
    return config.stash[CONNECTION]


def _option(config: pytest.Config, name: str) -> str | None:
    """An option of the command line, even before all of it has been read."""
    options = config.option if hasattr(config.option, name) else config.known_args_namespace
    value: str | None = getattr(options, name)
    return value


def pytest_unconfigure(config: pytest.Config) -> None:
    """Stops the server of the run."""
    if _run()[1] == os.getpid():
        del os.environ[RUN]
    if (connection := config.stash.get(CONNECTION, None)) and connection.server:
        connection.server.close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Adds the mail of a failed test to its report."""
    report = yield
    mail = item.stash.get(MAIL, None)
    if mail is not None and report.failed and call.when != "teardown":
        mail.has_failed = True
        if mail.inboxes:
            _add_mail(item.config, report, mail, call.excinfo.value if call.excinfo else None)
    return report


def _add_mail(config: pytest.Config, report: pytest.TestReport, mail: TestMail, error: BaseException | None) -> None:
    addresses = [inbox.address for inbox in mail.inboxes]
    hint = "" if config.getini(SMTP_VARIABLES) or "django" in sys.modules else HINT
    with contextlib.closing(MailReport(_connection(config), addresses, error, hint)) as found:
        report.sections.append(("mail of this test", found.text()))
        # Properties of the test in JUnit's XML.
        link = found.link()
        if link:
            mail.properties.append(("what happened during the wait", link))
        for cause in found.causes():
            mail.properties.append(("why no message arrived", cause))
            note_in_job_summary(report.nodeid, cause, found.text(), link)
        has_html, has_allure = config.getoption("htmlpath", None), config.getoption("allure_report_dir", None)
        attachments = list(found.attachments()) if has_html or has_allure else []
    if has_html:
        report.extras = [*getattr(report, "extras", []), *html_extras(attachments)]  # type: ignore[attr-defined]
    if has_allure:
        attach_to_allure(attachments)


@pytest.fixture(scope="session")
def restante(pytestconfig: pytest.Config) -> Iterator[Restante]:
    """The client of the run's server."""
    with Restante(connection=replace(_connection(pytestconfig), server=None)) as client:
        # Reports a wrong URL once, and not in each test.
        client.health()
        yield client


@pytest.fixture
def _restante_mail(request: pytest.FixtureRequest) -> TestMail:  # pyright: ignore[reportUnusedFunction]
    mail = request.node.stash[MAIL] = TestMail(properties=request.node.user_properties)
    return mail


@pytest.fixture
def restante_new_inbox(
    request: pytest.FixtureRequest, restante: Restante, _restante_mail: TestMail
) -> Iterator[Callable[[], Inbox]]:
    """Creates inboxes: `restante_new_inbox()`. They are deleted when the test has passed."""
    mail = _restante_mail

    def new_inbox() -> Inbox:
        inbox = restante.create_inbox(timeout=_timeout(request), label=request.node.nodeid)
        mail.inboxes.append(inbox)
        mail.own.append(inbox)
        return inbox

    yield new_inbox
    if not mail.has_failed:
        for inbox in mail.own:
            # The test has passed, even if it has deleted the inbox or the server has ended.
            with contextlib.suppress(RestanteError):
                inbox.delete()


@pytest.fixture
def restante_inbox_for(
    request: pytest.FixtureRequest, restante: Restante, _restante_mail: TestMail
) -> Callable[[str], Inbox]:
    """The inbox with an address that the application already has: `restante_inbox_for("ada@example.com")`.

    It is not deleted, because other tests may use the same address.
    """

    def inbox_for(address: str) -> Inbox:
        inbox = restante.inbox_for(address, timeout=_timeout(request), label=request.node.nodeid)
        _restante_mail.inboxes.append(inbox)
        return inbox

    return inbox_for


@pytest.fixture
def restante_inbox(restante_new_inbox: Callable[[], Inbox]) -> Inbox:
    """An inbox for this test."""
    return restante_new_inbox()


@pytest.fixture
def restante_django(restante: Restante) -> Iterator[None]:
    """Lets Django send its mail to Restante, although its test environment keeps mail in memory."""
    from django.test import override_settings  # pyright: ignore

    with override_settings(**smtp_settings(restante.smtp.host, restante.smtp.port)):
        yield


@pytest.fixture
def restante_async_inbox(
    request: pytest.FixtureRequest, pytestconfig: pytest.Config, restante_new_inbox: Callable[[], Inbox]
) -> AsyncInbox:
    """An inbox for this test, whose operations are awaited. Works with every plugin for async tests."""
    session = AsyncSession(_connection(pytestconfig))
    return AsyncInbox(session, restante_new_inbox().data, timeout=_timeout(request))


def _timeout(request: pytest.FixtureRequest) -> float | None:
    marker: pytest.Mark | None = request.node.get_closest_marker("restante")
    return marker.kwargs.get("timeout") if marker else None
