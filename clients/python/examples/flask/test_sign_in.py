"""Flask's test client: a code, a second mail, no mail, and an answer."""

import pytest
from application import create_app


@pytest.fixture
def client(restante):
    return create_app(restante.smtp.host, restante.smtp.port).test_client()


def test_a_visitor_signs_in_with_the_code(client, restante_inbox):
    client.post("/code", data={"email": restante_inbox.address})

    code = restante_inbox.wait_for_message("sign in").code()
    response = client.post("/sign-in", data={"email": restante_inbox.address, "code": code})

    assert response.text == f"Welcome, {restante_inbox.address}"


def test_only_the_newest_code_is_valid(client, restante_inbox):
    client.post("/code", data={"email": restante_inbox.address})
    client.post("/code", data={"email": restante_inbox.address})

    old, new = (message.code() for message in restante_inbox.wait_for_messages(2))

    assert client.post("/sign-in", data={"email": restante_inbox.address, "code": new}).status_code == 200
    assert old == new or client.post("/sign-in", data={"email": restante_inbox.address, "code": old}).status_code == 403


def test_nobody_else_gets_the_code(client, restante_new_inbox):
    visitor, bystander = restante_new_inbox(), restante_new_inbox()

    client.post("/code", data={"email": visitor.address})

    visitor.wait_for_message("sign in")
    bystander.expect_no_message(within=0.2)
