"""An assertion and its negation are never both true or both false: a table for each."""

import contextlib
import dataclasses
import json
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from mail import mail
from wire import MESSAGE

from restante import ContentError, Restante, UnexpectedMessageError, WaitTimeoutError
from restante._core import Core
from restante._decode import decode
from restante._protocol import Reply
from restante.model import Code, Details, Link, LinkMatch, MessageData, TextMatch


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


@pytest.mark.parametrize(
    ("text", "expected", "is_one"),
    [
        ("Confirm your account", None, False),
        ("Shop", None, False),
        (re.compile("^confirm$"), None, False),
        (re.compile("^confirm$", re.I), "https://a.example/a", True),
        ("confirm", "https://a.example/a", True),
        (re.compile("[ef]"), None, False),
    ],
)
def test_a_link_is_selected_by_its_words(text: TextMatch, expected: str | None, is_one: bool) -> None:
    links = (Link("https://a.example/a", "Confirm", "html"), Link("https://a.example/b", "Delete", "html"))
    details = found(links=links)
    message = replace(decode(MessageData, {**MESSAGE, "links": [link.url for link in links]}), _details=details)
    assert passes(lambda: message.link(text=text), ContentError) is is_one
    assert expected is None or message.link(text=text) == expected


PIN = Code("7710", "label_before", "Your PIN is 7710.")
LETTERS = Code("LZDG-RMHF", "alone_below_label", "LZDG-RMHF")


def found(codes: tuple[Code, ...] = (), links: tuple[Link, ...] = ()) -> Details:
    """Details of which only these fields matter."""
    fields = dict.fromkeys(field.name for field in dataclasses.fields(Details))
    return Details(**{**fields, "codes": codes, "links": links})  # type: ignore[arg-type]  # pyright: ignore


@pytest.mark.parametrize(
    ("codes", "matching", "code"),
    [
        ((), None, None),
        ((), "482913", None),
        ((PIN,), None, "7710"),
        ((LETTERS,), None, "LZDG-RMHF"),
        ((PIN,), "letters", None),
        ((PIN, LETTERS), None, None),
        ((PIN, LETTERS), "pin", "7710"),
        ((PIN, LETTERS), re.compile("^[A-Z-]+$"), "LZDG-RMHF"),
        ((PIN, LETTERS), re.compile("."), None),
    ],
)
def test_code_is_the_only_labelled_one(codes: tuple[Code, ...], matching: TextMatch | None, code: str | None) -> None:
    order = {**MESSAGE, "text": "Order 482913 shipped.", "otp": "482913"}
    message = replace(decode(MessageData, order), _details=found(codes))
    if code is not None:
        assert message.code(matching) == code
        return
    with pytest.raises(ContentError) as error:
        message.code(matching)
    # The error has all codes, or the text with its numbers.
    assert all(one.line in str(error.value) for one in codes)
    assert codes or "482913" in str(error.value)


def test_a_code_of_a_real_message(client: Restante) -> None:
    inbox = client.create_inbox(label="codes")
    for text in ("Order 482913 shipped.", "Your sign-in code: LZDG-RMHF", "Your code is 4821.\nYour PIN is 7710."):
        mail(client.smtp, inbox.address, "Hello", text)
    order, letters, several = inbox.wait_for_messages(3)
    with pytest.raises(ContentError, match=r"not labelled as a code: 482913"):
        order.code()
    assert letters.code() == "LZDG-RMHF"
    with pytest.raises(ContentError, match=r"has 2 codes"):
        several.code()
    assert several.code(matching="pin") == "7710"
    assert [message.id for message in inbox.messages(has="code")] == [several.id, letters.id]


def problem(check: str, severity: str, line: int | None = None) -> dict[str, Any]:
    part, source = ("text", "  Hello {{name}}") if line else (None, None)
    return {"check": check, "severity": severity, "detail": "Wrong.", "part": part, "line": line, "source": source}


NAME, DATE, IMAGE = problem("placeholder", "error", 7), problem("headers", "error"), problem("image", "warning", 2)


@pytest.mark.parametrize(
    ("problems", "options", "failing"),
    [
        ([], {}, []),
        ([IMAGE], {}, []),
        ([IMAGE], {"warnings": True}, ["warning image"]),
        ([IMAGE], {"warnings": True, "ignore": ["image"]}, []),
        ([NAME], {}, ["error placeholder"]),
        ([NAME], {"ignore": ["placeholder"]}, []),
        ([NAME], {"ignore": ["headers"]}, ["error placeholder"]),
        ([NAME, DATE, IMAGE], {}, ["error placeholder", "error headers"]),
        ([NAME, DATE, IMAGE], {"ignore": ["headers"]}, ["error placeholder"]),
        ([NAME, DATE, IMAGE], {"warnings": True}, ["error placeholder", "error headers", "warning image"]),
        ([NAME, DATE, IMAGE], {"ignore": ["headers", "placeholder"]}, []),
    ],
)
def test_check_fails_with_exactly_the_problems_that_count(
    problems: list[dict[str, Any]], options: dict[str, Any], failing: list[str]
) -> None:
    answer = Reply(200, {}, json.dumps({"problems": problems, "html": None, "authentication": None}).encode())
    given = {"ignore": (), "warnings": False, **options}

    def check() -> None:
        steps = Core("http://server", 30.0).check("m1", **given, named="The message", story="")
        next(steps)
        with contextlib.suppress(StopIteration):
            steps.send(answer)

    assert passes(check, ContentError) is (failing == [])
    if failing:
        with pytest.raises(ContentError) as error:
            check()
        first, *listed = str(error.value).splitlines()
        count = "1 problem" if len(failing) == 1 else f"{len(failing)} problems"
        assert first == f"The message has {count}:"
        assert [line.strip().split(":")[0] for line in listed if not line.startswith("   ")] == failing
