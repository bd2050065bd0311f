"""The core without I/O, against a script of answers and a clock that only the script moves."""

import json
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import pytest
from wire import DETAILS, MESSAGE

from restante import ContentError, InvalidRequestError, RestanteError, UnreachableError, WaitTimeoutError
from restante._core import Core
from restante._decode import decode
from restante._filters import Filters
from restante._position import Position
from restante._protocol import Broken, Outcome, Pause, Reply, Request, Steps
from restante._waits import Wait
from restante.model import InboxData, MessageData

T = TypeVar("T")
INBOX = {
    "id": "k3v9",
    "address": "k3v9@restante.example.com",
    "kind": "temporary",
    "created_at": "2026-11-20T09:30:00.123Z",
}


def reply(status: int, body: Any = None, **headers: str) -> Reply:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply(status, named, json.dumps({"error": "words"} if body is None else body).encode())


CREATED = reply(201, {**INBOX, "expires_at": None})
QUEUED = reply(202, {"id": "o1", "status": "queued"})
LOST, REFUSED = Broken("reset by peer", sent=True), Broken("connection refused", sent=False)
BUSY, STOPPING = reply(429), reply(503, retry_after="2")
Answer = Outcome | tuple[Outcome, float]


class Script:
    """Gives the answers one after another, the last one for ever. An answer may take seconds."""

    def __init__(self, *answers: Answer) -> None:
        self._answers = list(answers)
        self.now = 1000.0
        self.requests: list[Request] = []
        self.details = 404
        """The status of the answer to a request for details. By default, the message was deleted."""
        self.pauses: list[float] = []
        self.core = Core("http://server", 30.0, clock=lambda: self.now)

    def run(self, steps: Steps[T]) -> T:
        outcome: Outcome = None
        while True:
            try:
                effect = steps.send(outcome)
            except StopIteration as done:
                result: T = done.value
                return result
            assert self.now < 10_000, "without an end"
            outcome = None if isinstance(effect, Pause) else self._answer(effect)
            if isinstance(effect, Pause):
                self.pauses.append(effect.seconds)
                self.now += effect.seconds

    def _answer(self, request: Request) -> Outcome:
        if request.path.endswith("/details"):
            return reply(self.details)
        self.requests.append(request)
        if request.path.endswith("/explain"):
            return reply(500)
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        outcome, seconds = answer if isinstance(answer, tuple) else (answer, 0.0)
        self.now += seconds
        return outcome

    def wait(self, seconds: float, count: int = 1, position: Position | None = None) -> list[MessageData]:
        inbox = decode(InboxData, {**INBOX, "expires_at": None})
        filters = Filters[MessageData]()
        read: Callable[[Any, Any], MessageData] = lambda data, _: decode(MessageData, data)  # noqa: E731
        wait = Wait(self.core, inbox, position or Position(), filters, ..., seconds, read)
        return self.run(wait.messages(count))

    def timeouts(self) -> list[int]:
        return [int(request.query["timeout"]) for request in self.requests if request.path.endswith("/wait")]


def test_a_long_wait_is_several_requests_with_time_to_spare_in_http() -> None:
    script = Script((reply(408), 120.0), (reply(408), 120.0), reply(200, MESSAGE))
    assert script.wait(300)[0].id == "m1"
    assert script.timeouts() == [120_000, 120_000, 60_000]
    assert [request.seconds for request in script.requests] == [130.0, 130.0, 70.0]


def test_408_is_not_a_failure_that_is_repeated_with_pauses() -> None:
    script = Script((reply(408), 7.0), (reply(408), 3.0), reply(408))
    with pytest.raises(WaitTimeoutError):
        script.wait(10)
    assert script.timeouts() == [10_000, 3_000]
    assert script.pauses == []


def test_a_408_that_is_not_the_servers_is_an_error_and_not_asked_for_again() -> None:
    script = Script((Reply(408, {}, b"<h1>Request Timeout</h1>"), 1.0))
    with pytest.raises(UnreachableError, match="with 408 <h1>Request Timeout"):
        script.wait(10)
    assert len(script.requests) == 1


def test_a_404_that_is_not_the_servers_is_not_an_inbox_that_has_ended() -> None:
    script = Script((Reply(404, {}, b"<h1>Not Found</h1>"), 1.0))
    with pytest.raises(UnreachableError, match="with 404 <h1>Not Found"):
        script.wait(10)
    assert len(script.requests) == 1


def test_a_refused_wait_is_tried_again_with_growing_pauses_until_its_own_deadline() -> None:
    script = Script(BUSY)
    with pytest.raises(WaitTimeoutError):
        script.wait(30)
    assert script.now == 1030.0
    # The last one is cut to what is left.
    pauses = script.pauses[:-1]
    assert 0.025 <= pauses[0] <= 0.05
    assert all(0.025 <= pause <= 1.0 for pause in pauses)
    waited = 0.0
    for pause in pauses:
        assert pause <= max(0.05, min(waited / 10, 1.0)) + 1e-9
        waited += pause
    assert max(pauses) >= 0.5
    assert len({round(pause, 6) for pause in pauses}) > len(pauses) / 2, "not jittered"


def test_a_message_whose_details_cannot_be_read_is_no_message_that_does_not_match() -> None:
    script = Script(reply(200, MESSAGE), (reply(408), 30.0))
    assert script.wait(30)[0].id == "m1"
    script = Script(reply(200, MESSAGE), (reply(408), 30.0))
    script.details = 500
    with pytest.raises(RestanteError, match="answered with 500"):
        script.wait(30)


def test_a_wait_looks_once_more_at_its_deadline_after_a_pause() -> None:
    script = Script((BUSY, 0.97), reply(200, MESSAGE))
    assert script.wait(1)[0].id == "m1"
    assert script.timeouts() == [1_000, 1]


def test_the_requests_of_a_wait_have_a_name_and_one_page() -> None:
    page = reply(408, link='<http://server/failures/7>; rel="help"')
    script = Script((page, 9.0), (page, 1.0))
    with pytest.raises(WaitTimeoutError) as caught:
        script.wait(10)
    names = [request.headers["X-Restante-Wait"] for request in script.requests]
    assert len(names) == 3
    assert len(set(names)) == 1
    assert len(names[0]) == 32
    assert caught.value.link == "http://server/failures/7"
    assert str(caught.value).endswith("\nWhat happened during this wait: http://server/failures/7")
    assert "Dashboard" not in str(caught.value)


def test_a_time_out_has_the_label_of_the_inbox_beside_the_page() -> None:
    script = Script((reply(408, link='<http://server/failures/7>; rel="help"'), 10.0))
    inbox = decode(InboxData, {**INBOX, "expires_at": None})
    read: Callable[[Any, Any], MessageData] = lambda data, _: decode(MessageData, data)  # noqa: E731
    wait = Wait(script.core, inbox, Position(), Filters[MessageData](), ..., 10, read, label="sign up")
    with pytest.raises(WaitTimeoutError, match=r"/failures/7 \(sign up\)$"):
        script.run(wait.messages(1))


@pytest.mark.parametrize("link", ["", "<http://server/docs>; rel=next", "<javascript:alert()>; rel=help"])
def test_without_a_page_a_time_out_links_to_the_inbox(link: str) -> None:
    with pytest.raises(WaitTimeoutError) as caught:
        Script((reply(408, link=link), 1.0)).wait(1)
    assert caught.value.link is None
    assert str(caught.value).endswith("\nDashboard: http://server/inboxes/k3v9")


def test_a_wait_goes_on_over_a_restart_until_its_deadline() -> None:
    script = Script(LOST, REFUSED, STOPPING, reply(200, MESSAGE))
    assert script.wait(10)[0].id == "m1"
    assert script.pauses[-1] == 2.0

    script = Script(REFUSED)
    with pytest.raises(UnreachableError, match="http://server"):
        script.wait(10)
    assert script.now == 1010.0


def test_several_messages_share_one_time_limit_and_a_failure_frees_them() -> None:
    position = Position()
    script = Script((reply(200, MESSAGE), 4.0), (reply(408), 6.0))
    with pytest.raises(WaitTimeoutError, match="1 of 2 messages"):
        script.wait(10, 2, position)
    assert script.timeouts() == [10_000, 6_000]
    assert [request.query.get("after") for request in script.requests[:2]] == [None, "m1"]
    assert Script(reply(200, MESSAGE)).wait(10, 1, position)[0].id == "m1"


def test_a_time_out_comes_also_if_the_server_cannot_say_why() -> None:
    with pytest.raises(WaitTimeoutError, match="explanation could not be read") as caught:
        Script(reply(408)).wait(0)
    assert caught.value.explanation is None


@pytest.mark.parametrize(
    ("answers", "is_made"),
    [
        ([REFUSED, REFUSED, QUEUED], True),
        ([BUSY, QUEUED], True),
        ([LOST, QUEUED], False),
        ([STOPPING, QUEUED], False),
    ],
    ids=["refused", "too many", "lost", "stopping"],
)
def test_a_send_is_repeated_only_if_it_cannot_have_been_done(answers: Iterable[Outcome], is_made: bool) -> None:
    script = Script(*answers)
    if is_made:
        assert script.run(script.core.send("k3v9", {})).id == "o1"
    else:
        with pytest.raises(RestanteError):
            script.run(script.core.send("k3v9", {}))
        assert len(script.requests) == 1


@pytest.mark.parametrize(
    ("reply_to", "sender", "to"),
    [
        (["help@app.example"], ["shop@app.example"], "help@app.example"),
        ([None, "help@app.example"], ["shop@app.example"], "help@app.example"),
        ([None], [None, "shop@app.example"], "shop@app.example"),
        ([], [None], "bounces@app.example"),
    ],
)
def test_a_reply_goes_to_the_first_address(reply_to: list[str | None], sender: list[str | None], to: str) -> None:
    named = {"reply_to": reply_to, "from": sender}
    fields = {name: [{"name": "Shop", "address": one} for one in found] for name, found in named.items()}
    steps = Script(QUEUED).core.reply("m1", "Thank you.", None)
    next(steps)
    sent = steps.send(reply(200, {**DETAILS, **fields}))
    assert isinstance(sent, Request)
    assert sent.body is not None
    assert sent.body["to"] == to


def test_a_send_to_a_full_inbox_is_not_repeated() -> None:
    script = Script(reply(429, {"error": "recipient inbox is full"}), QUEUED)
    with pytest.raises(RestanteError, match="429: recipient inbox is full"):
        script.run(script.core.send("k3v9", {}))
    assert len(script.requests) == 1


@pytest.mark.parametrize("failure", [LOST, STOPPING], ids=["lost", "stopping"])
def test_what_may_be_done_twice_is_repeated(failure: Outcome) -> None:
    newest, faults = reply(200, {"messages": []}), reply(200, {"faults": []})
    script = Script(failure, CREATED, failure, CREATED, newest, failure, faults, failure, reply(404))
    script.run(script.core.create_inbox())
    script.run(script.core.ensure_inbox("ada@example.com"))
    script.run(script.core.faults("k3v9", []))
    script.run(script.core.delete("/v1/inboxes/k3v9"))
    assert len(script.requests) == 9


@pytest.mark.parametrize("outcome", [LOST, REFUSED, STOPPING], ids=["lost", "refused", "stopping"])
def test_a_read_is_repeated_for_ten_seconds(outcome: Outcome) -> None:
    script = Script(outcome, reply(200, {**INBOX, "expires_at": None}))
    assert script.run(script.core.find_inbox("k3v9")).id == "k3v9"
    script = Script(outcome)
    with pytest.raises(RestanteError):
        script.run(script.core.find_inbox("k3v9"))
    assert script.now == 1010.0


def test_no_request_is_repeated_for_longer_than_the_time_limit_of_the_client() -> None:
    script = Script(REFUSED)
    script.core.timeout = 0.3
    with pytest.raises(UnreachableError):
        script.run(script.core.create_inbox())
    assert script.now == pytest.approx(1000.3)


def test_errors_have_the_words_and_the_status_of_the_server() -> None:
    script = Script(reply(400, {"error": "invalid field: to"}))
    with pytest.raises(InvalidRequestError, match=r"^\w+ /v1/\S+: 400 invalid field: to$") as caught:
        script.run(script.core.send("k3v9", {"to": "no address"}))
    assert caught.value.status == 400


def test_an_answer_that_is_not_the_servers_is_shown() -> None:
    script = Script(Reply(502, {}, b"<html>Bad Gateway"))
    with pytest.raises(RestanteError, match="answered with 502: <html>Bad Gateway") as caught:
        script.run(script.core.health())
    assert type(caught.value) is RestanteError


IMAGE = {"check": "image", "severity": "warning", "detail": "No alt.", "part": "html", "line": 2, "source": " <img>"}
NAME = {"check": "placeholder", "severity": "error", "detail": "No.", "part": "text", "line": 7, "source": "{{name}}"}
DATE = {"check": "headers", "severity": "error", "detail": "No Date.", "part": None, "line": None, "source": None}


@pytest.mark.parametrize(
    ("problems", "ignore", "warnings", "number"),
    [
        ([], [], True, 0),
        ([IMAGE], [], False, 0),
        ([IMAGE], [], True, 1),
        ([IMAGE], ["image"], True, 0),
        ([NAME], [], False, 1),
        ([NAME], ["placeholder"], False, 0),
        ([NAME, DATE, IMAGE], [], False, 2),
        ([NAME, DATE, IMAGE], ["headers"], False, 1),
    ],
)
def test_problems_fail_a_check(problems: list[Any], ignore: list[str], warnings: bool, number: int) -> None:
    script = Script(reply(200, {"problems": problems, "html": None, "authentication": None}))
    steps = script.core.check("m1", ignore, warnings, "The message", "")
    if number == 0:
        script.run(steps)
    else:
        with pytest.raises(ContentError, match=f"has {number} problem"):
            script.run(steps)
    assert script.requests[0].path == "/v1/messages/m1/checks"


def test_each_problem_is_listed_with_its_line() -> None:
    script = Script(reply(200, {"problems": [NAME, DATE, IMAGE], "html": None, "authentication": None}))
    with pytest.raises(ContentError) as caught:
        script.run(script.core.check("m1", (), True, "The message", "\nDashboard"))
    assert str(caught.value).splitlines() == [
        "The message has 3 problems:",
        "  error placeholder: No. (text, line 7)",
        "    {{name}}",
        "  error headers: No Date.",
        "  warning image: No alt. (html, line 2)",
        "    <img>",
        "Dashboard",
    ]


def test_names_in_paths_are_quoted() -> None:
    script = Script(reply(404))
    with pytest.raises(RestanteError):
        script.run(script.core.find_inbox("../projects?x"))
    assert script.requests[0].path == "/v1/inboxes/..%2Fprojects%3Fx"
