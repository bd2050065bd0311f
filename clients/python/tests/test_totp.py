"""One-time passwords: the vectors of RFC 6238, the forms of a secret, and how long a code lasts."""

import re

import anyio
import pytest

from restante import AsyncRestante, Restante, RestanteError, Server, totp
from restante._protocol import Pause
from restante._totp import lasting_code

TEN = "GEZDGNBVGY3TQOJQ"
SHA1 = TEN * 2
"""The keys of the RFC, in Base32: 20, 32 and 64 digits of 1234567890…."""
SHA256 = TEN * 3 + "GEZA"
SHA512 = TEN * 6 + "GEZDGNA"


def code_at(now: float, secret: str) -> tuple[str, list[float]]:
    """The code at a time, and the pauses before it. The first pause ends a moment early, as those of a system may."""
    pauses: list[float] = []
    steps = lasting_code(secret, lambda: now)
    while True:
        try:
            pause = next(steps)
        except StopIteration as done:
            return str(done.value), pauses
        assert isinstance(pause, Pause)
        now += pause.seconds if pauses else pause.seconds - 0.125
        pauses.append(pause.seconds)


@pytest.mark.parametrize(
    ("now", "sha1", "sha256", "sha512"),
    [
        (30, "94287082", "46119246", "90693936"),
        (1111111080, "07081804", "68084774", "25091201"),
        (1111111110, "14050471", "67062674", "99943326"),
        (1234567890, "89005924", "91819424", "93441116"),
        (2000000000, "69279037", "90698825", "38618901"),
        (20000000000, "65353130", "77737706", "47863826"),
    ],
)
def test_the_vectors_of_the_rfc(now: float, sha1: str, sha256: str, sha512: str) -> None:
    found = [
        code_at(now, f"otpauth://totp/Shop:ada?secret={secret}&algorithm={algorithm}&digits=8")
        for algorithm, secret in (("SHA1", SHA1), ("sha-256", SHA256), ("SHA512", SHA512))
    ]
    assert found == [(code, []) for code in (sha1, sha256, sha512)]


@pytest.mark.parametrize(
    ("secret", "code"),
    [
        (SHA1, "287082"),
        (re.sub("(.{4})", r"\1 ", SHA1.lower()), "287082"),
        (re.sub("(.{4})", r"\1-", SHA1) + "====", "287082"),
        (f"OTPAUTH://totp/ada@example.com?secret={SHA1.lower()}&issuer=Shop", "287082"),
        (f"otpauth://totp/ada?secret={SHA1}&digits=7", "4287082"),
        (f"otpauth://totp/ada?secret={SHA1}&period=60", "755224"),
    ],
)
def test_the_forms_of_a_secret(secret: str, code: str) -> None:
    assert code_at(31, secret)[0] == code


@pytest.mark.parametrize(
    "secret",
    [
        "",
        "SECRET0189",
        "SECRETSEC",
        "otpauth://hotp/ada?secret=SECRET",
        "otpauth://totp/ada",
        "otpauth://totp/ada?secret=SECRETSE&digits=9",
        "otpauth://totp/ada?secret=SECRETSE&digits=6.5",
        "otpauth://totp/ada?secret=SECRETSE&algorithm=MD5",
        "otpauth://totp/ada?secret=SECRETSE&period=0",
    ],
)
def test_a_mistake_is_an_error_without_the_secret(secret: str) -> None:
    with pytest.raises(RestanteError) as error:
        totp(secret)
    assert "SECRET" not in str(error.value)


@pytest.mark.parametrize(
    ("now", "pauses", "code"),
    [(30, [], "287082"), (56.875, [], "287082"), (57, [3, 0.125], "359152"), (59.75, [0.25, 0.125], "359152")],
)
def test_a_code_lasts_longer_than_three_seconds(now: float, pauses: list[float], code: str) -> None:
    assert code_at(now, SHA1) == (code, pauses)


def test_a_period_of_a_second_has_a_code_too() -> None:
    assert code_at(0.5, f"otpauth://totp/ada?secret={SHA1}&period=1")[0] == "287082"


def test_both_clients_have_it(client: Restante, server: Server) -> None:
    async def awaited() -> str:
        async with AsyncRestante(server.started.url, server.api_key) as awaiting:
            return await awaiting.totp(SHA1)

    assert {len(totp(SHA1)), len(client.totp(SHA1)), len(anyio.run(awaited))} == {6}
