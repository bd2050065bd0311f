"""The tests of the tutorial: a sign-up with a code, and a second code."""

import pytest
from shop import Shop


@pytest.fixture
def shop(restante):
    return Shop(restante.smtp.host, restante.smtp.port)


def test_sign_up(shop, restante_inbox):
    shop.sign_up(restante_inbox.address)

    message = restante_inbox.wait_for_message(subject="confirm")
    shop.confirm(restante_inbox.address, message.code())

    assert restante_inbox.address in shop.customers


def test_only_the_second_code_is_valid(shop, restante_inbox):
    shop.sign_up(restante_inbox.address)
    first = restante_inbox.wait_for_message()
    shop.sign_up(restante_inbox.address)
    second = restante_inbox.wait_for_message()

    shop.confirm(restante_inbox.address, second.code())

    assert first.id != second.id
    assert restante_inbox.address in shop.customers
