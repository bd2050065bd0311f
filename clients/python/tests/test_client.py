"""The clients beyond the scenarios: settings, the two styles, and many threads."""

import inspect
import json
import os
import smtplib
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from socketserver import StreamRequestHandler, ThreadingTCPServer
from typing import Any
from urllib.request import urlopen

import anyio
import pytest
from mail import mail
from watched import Watched

from restante import (
    AsyncInbox,
    AsyncMessage,
    AsyncRestante,
    ContentError,
    Inbox,
    InvalidRequestError,
    Message,
    NotFoundError,
    Restante,
    RestanteError,
    Server,
    UnauthorizedError,
    UnreachableError,
)
from restante._connection import connect

PAIRS: list[tuple[type[Any], type[Any]]] = [(Restante, AsyncRestante), (Inbox, AsyncInbox), (Message, AsyncMessage)]


@pytest.mark.parametrize(("plain", "awaited"), PAIRS, ids=lambda pair: pair.__name__)
def test_both_styles_have_the_same_methods(plain: type[Any], awaited: type[Any]) -> None:
    def methods(kind: type[Any]) -> dict[str, str]:
        found = inspect.getmembers(kind, lambda member: inspect.isfunction(member) or isinstance(member, property))
        named = {name.replace("aclose", "close"): member for name, member in found if not name.startswith("_")}
        return {name: _signature(member) for name, member in named.items()}

    assert methods(plain) == methods(awaited)


def _signature(member: Any) -> str:
    if isinstance(member, property):
        return str(member.__doc__)
    return str(inspect.signature(member)).replace("Async", "")


def test_an_inbox_is_deleted_at_the_end_of_with(client: Restante) -> None:
    with client.create_inbox() as inbox:
        assert inbox.expires_at
    with pytest.raises(NotFoundError):
        client.inbox(inbox.id)
    with client.create_inbox() as inbox:
        inbox.delete()


def test_an_inbox_is_deleted_at_the_end_of_async_with(server: Server) -> None:
    async def use() -> None:
        async with AsyncRestante(server.started.url, server.api_key) as client:
            async with await client.create_inbox() as inbox:
                assert (await client.inbox(inbox.address)).id == inbox.id
            with pytest.raises(NotFoundError):
                await client.inbox(inbox.id)

    anyio.run(use)


def test_an_async_client_works_in_one_event_loop_after_another(server: Server) -> None:
    client = AsyncRestante(server.started.url, server.api_key)
    anyio.run(client.health)
    anyio.run(client.health, backend="trio")
    anyio.run(client.aclose)


def test_a_cancelled_wait_leaves_its_place(server: Server) -> None:
    async def use() -> None:
        client = AsyncRestante(server.started.url, server.api_key)
        inbox = await client.create_inbox()
        with anyio.move_on_after(0.2) as scope:
            await inbox.wait_for_message()
        assert scope.cancelled_caught
        await inbox.expect_no_message(within=0.1)

    anyio.run(use)


def test_more_threads_than_an_http_client_has_connections(client: Restante) -> None:
    def wait(number: int) -> str:
        inbox = client.create_inbox()
        mail(client.smtp, inbox.address, str(number))
        return inbox.wait_for_message().subject

    with ThreadPoolExecutor(120) as pool:
        assert list(pool.map(wait, range(120))) == [str(number) for number in range(120)]


def test_the_environment_names_the_server(monkeypatch: pytest.MonkeyPatch, server: Server) -> None:
    monkeypatch.setenv("RESTANTE_URL", f"{server.started.url}/")
    monkeypatch.setenv("RESTANTE_API_KEY", server.api_key)
    monkeypatch.setenv("RESTANTE_TIMEOUT", "0.5")
    monkeypatch.setenv("RESTANTE_SMTP", "mail.example:2525")
    monkeypatch.setenv("RESTANTE_MAIL_DOMAIN", "inbox.example")
    with Restante() as client:
        assert client.health().status == "ok"
        assert (client.smtp.host, client.smtp.port, client.mail_domain) == ("mail.example", 2525, "inbox.example")
        assert connect(None, None, None).timeout == 0.5
        assert connect(None, None, 3.0).timeout == 3.0


def test_the_usual_smtp_port_of_the_same_host() -> None:
    smtp = connect("https://inbox.example/", "key", None).smtp
    assert (smtp.host, smtp.port) == ("inbox.example", 1025)


def test_an_address_without_a_scheme_is_an_error_at_once() -> None:
    with pytest.raises(UnreachableError, match="http://"):
        Restante("localhost:8025", "key")


def test_a_proxy_of_the_environment_is_not_asked_for_this_machine(
    monkeypatch: pytest.MonkeyPatch, server: Server
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:3")
    with Restante(server.started.url, server.api_key) as client:
        assert client.health().status == "ok"


@pytest.mark.parametrize(
    ("url", "line"),
    [
        ("http://restante.example:8025", b"GET http://restante.example:8025/v1/health HTTP/1.1"),
        ("https://restante.example", b"CONNECT restante.example:443 HTTP/1"),
    ],
)
def test_a_proxy_of_the_environment_is_asked_for_another_machine(
    monkeypatch: pytest.MonkeyPatch, url: str, line: bytes
) -> None:
    received: list[bytes] = []

    class Proxy(StreamRequestHandler):
        def handle(self) -> None:
            received.extend(iter(self.rfile.readline, b"\r\n"))
            self.wfile.write(b'HTTP/1.1 400 Bad Request\r\nContent-Length: 15\r\n\r\n{"error": "no"}')

    with ThreadingTCPServer(("127.0.0.1", 0), Proxy) as proxy:
        threading.Thread(target=proxy.serve_forever).start()
        for name in ("http_proxy", "https_proxy"):
            monkeypatch.setenv(name, f"http://ada:p%40ss@127.0.0.1:{proxy.server_address[1]}")
        try:
            with Restante(url, "key", timeout=0.1) as client, pytest.raises(RestanteError):
                client.health()
        finally:
            proxy.shutdown()
    assert received[0].startswith(line)
    assert b"Proxy-Authorization: Basic YWRhOnBAc3M=\r\n" in received


def test_nothing_that_is_printed_has_the_key(server: Server) -> None:
    with Restante(server.started.url, server.api_key) as client:
        shown = [client, client._session.connection, vars(client), vars(client._session), client.create_inbox(), server]
        assert server.api_key not in repr(shown)


def test_a_missing_key_says_what_to_set(server: Server) -> None:
    with Restante(server.started.url) as client, pytest.raises(UnauthorizedError, match="RESTANTE_API_KEY"):
        client.create_inbox()


def test_a_client_without_an_address_starts_a_server_and_stops_it(watched: Watched) -> None:
    with Restante() as client:
        inbox = client.create_inbox()
        mail(client.smtp, inbox.address, "Hello")
        assert inbox.wait_for_message().subject == "Hello"
        assert client.mail_domain == "restante.example.com"
        with urlopen(f"{client.mailpit_url}/api/v1/info") as answer:
            assert json.load(answer)["Messages"] == 1
    watched.wait_until_ended()


def test_mail_to_other_domains_does_not_leave_a_server_of_our_own(client: Restante) -> None:
    # It accepts every domain, so there is no other one, and only inboxes get what is sent.
    with pytest.raises(NotFoundError, match="recipient not found"):
        client.create_inbox().send("someone@example.com", "Hello", text="Hello!")


def test_a_server_of_our_own_suits_the_defaults_of_mailers(client: Restante) -> None:
    with smtplib.SMTP(client.smtp.host, client.smtp.port) as connection:
        connection.ehlo()
        assert not connection.has_extn("starttls")
        assert "PLAIN" in connection.esmtp_features["auth"]


def test_two_starts_with_the_key_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RESTANTE_API_KEY", "rst_live_0123456789abcdefghjkmnpqrstvwxyz")
    with Restante() as client:
        assert client.create_inbox().address


def test_a_server_that_does_not_start_is_quoted() -> None:
    with pytest.raises(UnreachableError, match="no-such-flag"):
        Server("--no-such-flag")


def test_no_server_is_left_by_a_program_that_forgets_to_close(watched: Watched) -> None:
    subprocess.run(
        [sys.executable, "-c", "import restante; client = restante.Restante(); client.health()"],
        check=True,
        env={**os.environ, "RESTANTE_BIN": str(watched.program)},
    )
    watched.wait_until_ended()
    assert watched.left() == []


def test_the_module_is_the_command() -> None:
    def printed(*arguments: str) -> str:
        command = [sys.executable, "-m", "restante", *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    assert printed("--version").startswith("restante ")


def test_a_message_is_checked_and_forwarded(client: Restante) -> None:
    inbox, other = client.create_inbox(), client.create_inbox()
    mail(client.smtp, inbox.address, "Hello {{name}}", "Hello!")
    message = inbox.wait_for_message()
    with pytest.raises(ContentError, match="error placeholder: "):
        message.check()
    message.check(ignore=["placeholder", "headers"])
    assert "placeholder" in [problem.check for problem in message.checks().problems]
    message.forward(other.address)
    assert other.wait_for_message().subject == "Hello {{name}}"


def test_a_request_that_is_not_valid(client: Restante) -> None:
    with pytest.raises(InvalidRequestError, match="invalid has"):
        client.create_inbox().messages(has="picture")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
