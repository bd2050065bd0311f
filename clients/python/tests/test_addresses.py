"""Applications accept the addresses of the default mail domain. clients/typescript/test has the checks of others."""

from collections.abc import Callable

import pytest
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from email_validator import EmailNotValidError
from email_validator import validate_email as check_email
from pydantic import EmailStr, TypeAdapter
from pydantic import ValidationError as PydanticError

ADDRESSES = ["k3v9w0qdm4xt2p7h@restante.example.com", "k3v9w0qdm4xt2p7h+signup@restante.example.com"]
CHECKS: dict[str, Callable[[str], object]] = {
    "email-validator": lambda address: check_email(address, check_deliverability=False),
    "pydantic": TypeAdapter(EmailStr).validate_python,
    "Django": validate_email,
}
REFUSED = (EmailNotValidError, PydanticError, ValidationError)


@pytest.mark.parametrize("check", CHECKS)
def test_the_addresses_of_inboxes_are_accepted(check: str) -> None:
    for address in ADDRESSES:
        CHECKS[check](address)
    with pytest.raises(REFUSED):
        CHECKS[check]("no address")


@pytest.mark.parametrize("top", ["test", "invalid", "local", "localhost"])
def test_reserved_top_level_domains_are_refused_as_the_explanations_say(top: str) -> None:
    with pytest.raises(EmailNotValidError, match="special-use"):
        CHECKS["email-validator"](f"ada@shop.{top}")


def test_the_top_level_domain_example_is_accepted() -> None:
    CHECKS["email-validator"]("ada@shop.example")
