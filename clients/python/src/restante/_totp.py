"""Time-based one-time passwords (RFC 6238), for tests that sign in with a second factor."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import parse_qs, urlsplit

from ._protocol import Pause, Steps
from .errors import RestanteError

__tracebackhide__ = True  # A failed test shows its own line, not ours.

MIN_VALID = 3.0
"""A code that ends sooner than this is not returned, in seconds."""
HASHES = {"SHA1": hashlib.sha1, "SHA256": hashlib.sha256, "SHA512": hashlib.sha512}
DIGITS = ("6", "7", "8")


@dataclass(frozen=True)
class Authenticator:
    """What an app for one-time passwords knows about an account. `period`: how long a code lasts, in seconds."""

    key: bytes
    algorithm: str = "SHA1"
    digits: int = 6
    period: int = 30

    def code_at(self, now: float) -> str:
        """The code at a time."""
        counter = int(now // self.period).to_bytes(8, "big")
        found = hmac.digest(self.key, counter, HASHES[self.algorithm])
        start = found[-1] & 0xF
        number = int.from_bytes(found[start : start + 4], "big") & 0x7FFFFFFF
        return f"{number:010d}"[-self.digits :]


def totp(secret: str) -> str:
    """The code that an authenticator app shows for a secret, for a second factor.

    If it ends within three seconds, waits for the next one, so that the application still accepts it. `secret` is in
    Base32, in any case and with spaces, or an `otpauth://totp/` URI, which may also set `algorithm`, `digits` and
    `period`.
    """
    steps = lasting_code(secret)
    while True:
        try:
            pause = next(steps)
        except StopIteration as done:
            return str(done.value)
        if isinstance(pause, Pause):
            time.sleep(pause.seconds)


def real_time(clock: Callable[[], float] = time.time) -> float:
    """The time that the application has, even if the test has stopped its own.

    Freezegun replaces what modules contain, but not the default of a parameter; time-machine replaces the function.
    """
    escape = getattr(sys.modules.get("time_machine"), "escape_hatch", None)
    return float(escape.time.time()) if escape and escape.is_travelling() else clock()


def lasting_code(secret: str, clock: Callable[[], float] = real_time) -> Steps[str]:
    """The steps of `totp`."""
    authenticator = authenticator_of(secret)
    now = clock()
    end = now - now % authenticator.period + authenticator.period
    if end - now <= MIN_VALID:
        # A pause may end a moment too early.
        while (left := end - clock()) > 0:
            yield Pause(left)
    return authenticator.code_at(clock())


def authenticator_of(secret: str) -> Authenticator:
    """Reads a secret. The errors do not contain it."""
    if not secret.lower().startswith("otpauth:"):
        return Authenticator(_decoded(secret))
    uri = urlsplit(secret)
    if uri.netloc.lower() != "totp":
        raise RestanteError("The otpauth URI is not one of the type totp.")
    given = {name: values[0] for name, values in parse_qs(uri.query).items()}
    algorithm = given.get("algorithm", "SHA1").upper().replace("-", "")
    digits, period = given.get("digits", "6"), given.get("period", "30")
    if algorithm not in HASHES:
        raise RestanteError(f"The algorithm of an authenticator must be SHA1, SHA256 or SHA512, not {algorithm}.")
    if digits not in DIGITS:
        raise RestanteError(f"An authenticator has 6 to 8 digits, not {digits}.")
    if not re.fullmatch("[1-9][0-9]{0,8}", period):
        raise RestanteError(f"The period of an authenticator must be a number of seconds, not {period}.")
    return Authenticator(_decoded(given.get("secret", "")), algorithm, int(digits), int(period))


def _decoded(secret: str) -> bytes:
    """The bytes of a secret in Base32, as apps and web pages show it."""
    letters = re.sub(r"[\s=-]", "", secret).upper()
    try:
        if letters:
            return base64.b32decode(letters + "=" * (-len(letters) % 8))
    except (ValueError, binascii.Error):
        pass
    raise RestanteError("The secret of an authenticator must be in Base32 (letters and the digits 2 to 7).")
