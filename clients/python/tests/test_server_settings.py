"""The environment of a server that a client starts."""

from pathlib import Path

import pytest

from restante import Server

RELAY = "smtp://127.0.0.1:2525"


def started_with(monkeypatch: pytest.MonkeyPatch, settings: dict[str, str]) -> dict[str, str]:
    """The settings of a server that is started with these variables."""
    for name in ("OUTBOUND", "RELAY", "ACCEPT_DOMAINS"):
        monkeypatch.delenv(f"RESTANTE_{name}", raising=False)
    for name, value in settings.items():
        monkeypatch.setenv(f"RESTANTE_{name}", value)
    with Server() as server:
        variables = Path(f"/proc/{server.started.pid}/environ").read_text().split("\0")
    pairs = (variable.partition("=") for variable in variables if variable.startswith("RESTANTE_"))
    return {name.removeprefix("RESTANTE_"): value for name, _, value in pairs}


@pytest.mark.parametrize(
    ("settings", "outbound", "domains"),
    [
        pytest.param({}, "off", "*", id="nothing"),
        pytest.param({"OUTBOUND": "", "RELAY": "", "ACCEPT_DOMAINS": ""}, "off", "*", id="empty"),
        pytest.param({"RELAY": RELAY}, None, None, id="relay"),
        pytest.param({"RELAY": RELAY, "OUTBOUND": "off"}, "off", "*", id="unused relay"),
        pytest.param({"OUTBOUND": "direct"}, "direct", None, id="direct"),
        pytest.param({"ACCEPT_DOMAINS": "a.example"}, "off", "a.example", id="chosen domains"),
    ],
)
def test_it_sends_no_mail_unless_asked_and_then_accepts_every_domain(
    monkeypatch: pytest.MonkeyPatch, settings: dict[str, str], outbound: str | None, domains: str | None
) -> None:
    found = started_with(monkeypatch, settings)
    assert (found.get("OUTBOUND"), found.get("ACCEPT_DOMAINS")) == (outbound, domains)


def test_it_does_not_get_the_data_or_the_url_of_another_one_or_empty_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    others = {"DATABASE": "postgres://db.example/mail", "DATA_DIR": "/var/lib", "BASE_URL": "https://m.example"}
    found = started_with(monkeypatch, {**others, "SMTP_STARTTLS": "", "WAITS_PER_KEY": ""})
    assert "DATABASE" not in found
    assert "BASE_URL" not in found
    assert found["DATA_DIR"] != others["DATA_DIR"]
    assert (found["SMTP_STARTTLS"], found["WAITS_PER_KEY"]) == ("off", "128")
