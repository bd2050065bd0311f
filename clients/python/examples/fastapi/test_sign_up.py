"""FastAPI's test client: pydantic accepts the address of an inbox, and a seeded user keeps its address."""

import pytest
from application import create_app
from fastapi.testclient import TestClient


@pytest.fixture
def client(restante):
    return TestClient(create_app(restante.smtp.host, restante.smtp.port, users=("ada@example.com",)))


def test_a_visitor_signs_up_with_the_code(client, restante_inbox):
    assert client.post("/sign-up", json={"email": restante_inbox.address}).status_code == 202

    code = restante_inbox.wait_for_message("code").code()
    response = client.post("/confirm", json={"email": restante_inbox.address, "code": code})

    assert response.json() == f"Welcome, {restante_inbox.address}"


def test_a_user_who_is_already_there_signs_in(client, restante_inbox_for):
    ada = restante_inbox_for("ada@example.com")
    assert client.post("/sign-in", json={"email": ada.address}).status_code == 202

    code = ada.wait_for_message("code").code()

    assert client.post("/confirm", json={"email": ada.address, "code": code}).json() == "Welcome, ada@example.com"


def test_pydantic_refuses_what_is_no_address(client):
    for email in ("nobody", "nobody@localhost", "nobody@inbox.test"):
        assert client.post("/sign-up", json={"email": email}).status_code == 422
