"""The filters of the content: those that the server applies, and those of the client."""

import re
from typing import Any

import pytest
from mail import compose, deliver

from restante import Inbox, Restante, WaitTimeoutError


@pytest.fixture
def inbox(client: Restante) -> Inbox:
    inbox = client.create_inbox()
    basic = {"X-Campaign": "Spring-7", "X-Order": "41", "Cc": "Bob <bob@app.example>"}
    for subject, text, headers in (
        ("Basic", "Your plan: basic", basic),
        ("Pro", "Your plan: PRO", {"X-Campaign": "winter", "X-Order": "42"}),
    ):
        assert deliver(client.smtp, compose(inbox.address, subject, text, headers=headers)).startswith("250")
    return inbox


@pytest.mark.parametrize(
    ("filters", "subjects"),
    [
        ({"text": "plan: pro"}, ["Pro"]),
        ({"text": re.compile("basic$", re.M)}, ["Basic"]),
        ({"to": "BOB@app"}, ["Basic"]),
        ({"to": re.compile(r"^Bob\b")}, ["Basic"]),
        ({"to": "@restante"}, ["Pro", "Basic"]),
        ({"header": {"x-campaign": "SPRING"}}, ["Basic"]),
        ({"header": {"X-Campaign": re.compile("^w")}}, ["Pro"]),
        ({"header": {"X-Campaign": "i", "X-Order": "42"}}, ["Pro"]),
        ({"header": {"X-Order": re.compile(r"^4\d$"), "X-Campaign": "spring"}}, ["Basic"]),
        ({"header": {"X-Campaign": ""}}, ["Pro", "Basic"]),
        ({"header": {"X-Other": ""}}, []),
        ({"text": "plan", "to": "bob", "header": {"X-Order": "42"}}, []),
    ],
)
def test_what_matches(inbox: Inbox, filters: dict[str, Any], subjects: list[str]) -> None:
    assert [message.subject for message in inbox.messages(**filters)] == subjects


@pytest.mark.parametrize(
    ("filters", "described", "name"),
    [
        ({"text": "gold"}, 'text "gold"', "text"),
        ({"to": re.compile("^eve")}, "to /^eve/", "the client's own filter"),
        ({"header": {"X-Order": "9", "X-Campaign": "1"}}, 'header X-Order "9" and header X-Campaign "1"', "header"),
        (
            {"text": re.compile("plan"), "header": {"X-Order": re.compile("^$")}},
            "header X-Order /^$/",
            "the client's own filter",
        ),
    ],
)
def test_a_time_out_names_what_excluded_the_messages(
    inbox: Inbox, filters: dict[str, Any], described: str, name: str
) -> None:
    with pytest.raises(WaitTimeoutError) as caught:
        inbox.wait_for_message(**filters, timeout=0.1)
    assert f"{described} arrived at" in str(caught.value)
    assert f'"Basic" from sender@app.example, not: {name}' in str(caught.value)
    assert caught.value.explanation is not None
    assert caught.value.explanation.cause == "filter_missed"
