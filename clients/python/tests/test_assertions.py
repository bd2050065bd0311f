"""An assertion and its negation are never both true or both false: a table for each."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from mail import mail
from wire import MESSAGE

from restante import ContentError, Restante, UnexpectedMessageError, WaitTimeoutError
from restante._decode import decode
from restante.model import LinkMatch, MessageData


def passes(assertion: Callable[[], object], error: type[Exception]) -> bool:
    try:
        assertion()
    except error:
        return False
    return True


@pytest.mark.parametrize(
    ("subjects", "filters", "arrives"),
    [
        ([], {}, False),
        (["Welcome"], {"subject": "confirm"}, False),
        (["Welcome"], {"subject": re.compile("confirm")}, False),
        (["Welcome"], {"where": lambda _: False}, False),
        (["Welcome"], {}, True),
        (["Welcome", "Confirm"], {"subject": "confirm"}, True),
        (["Welcome", "Confirm"], {"subject": re.compile("Confirm")}, True),
        (["Welcome", "Confirm"], {"where": lambda message: message.subject == "Confirm"}, True),
        (["Welcome", "Confirm"], {}, True),
    ],
)
def test_a_message_arrives_or_does_not(
    client: Restante, subjects: list[str], filters: dict[str, Any], arrives: bool
) -> None:
    inbox = client.create_inbox()
    for subject in subjects:
        mail(client.smtp, inbox.address, subject)
    # The first one does not count as returned.
    assert passes(lambda: inbox.expect_no_message(0.2, **filters), UnexpectedMessageError) is not arrives
    assert passes(lambda: inbox.wait_for_message(timeout=0.2, **filters), WaitTimeoutError) is arrives


ONE = ["https://a.example/track?1", "https://a.example/confirm"]
SEVERAL = ["https://a.example/track?1", "https://a.example/track?2"]


@pytest.mark.parametrize(
    ("links", "match", "is_one"),
    [
        ([], None, False),
        ([], "/track", False),
        (ONE, "/reset", False),
        (ONE, "/track", True),
        (ONE, re.compile("confirm$"), True),
        (ONE, None, False),
        (SEVERAL, "/track", False),
        (SEVERAL, lambda url: "2" in url, True),
    ],
)
def test_link_is_the_only_one_that_matches(links: list[str], match: LinkMatch | None, is_one: bool) -> None:
    message = decode(MessageData, {**MESSAGE, "links": links})
    assert passes(lambda: message.link(match), ContentError) is is_one


@pytest.mark.parametrize(("otp", "has_code"), [("", False), ("482913", True)])
def test_code_fails_without_one(otp: str, has_code: bool) -> None:
    assert passes(decode(MessageData, {**MESSAGE, "otp": otp}).code, ContentError) is has_code
