"""Time-based one-time passwords (RFC 6238), for tests that sign in with a second factor."""

from __future__ import annotations

import base64
import hmac
import re
import sys
import time
from collections.abc import Callable
from urllib.parse import parse_qs, quote, urlsplit

from ._protocol import Pause, Steps
from .errors import RestanteError

__tracebackhide__ = True  # A failed test shows its own line, not ours.

MIN_VALID = 3.0
"""A code that ends sooner than this is not returned, in seconds."""
MISTAKE = (
    "The secret of an authenticator must be in Base32 (letters and the digits 2 to 7), or an otpauth URI of the type "
    "totp, with SHA1, SHA256 or SHA512, 6 to 8 digits, and a period in seconds."
)


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
    try:
        key, algorithm, digits, period = _read(secret)
    except ValueError:
        # The error must not contain the secret.
        raise RestanteError(MISTAKE) from None
    now = clock()
    end = now - now % period + period
    if end - now <= MIN_VALID:
        # A pause may end a moment too early.
        while (left := end - clock()) > 0:
            yield Pause(left)
    found = hmac.digest(key, int(clock() // period).to_bytes(8, "big"), algorithm)
    start = found[-1] & 0xF
    number = int.from_bytes(found[start : start + 4], "big") & 0x7FFFFFFF
    return f"{number:010d}"[-digits:]


def _read(secret: str) -> tuple[bytes, str, int, int]:
    """The key, the algorithm, the digits and the period in seconds."""
    uri = urlsplit(secret if secret.lower().startswith("otpauth:") else f"otpauth://totp?secret={quote(secret)}")
    given = {name: values[0] for name, values in parse_qs(uri.query).items()}
    letters = re.sub(r"[\s=-]", "", given.get("secret", "")).upper()
    algorithm = given.get("algorithm", "sha1").lower().replace("-", "")
    digits, period = int(given.get("digits", "6")), int(given.get("period", "30"))
    is_usual = uri.netloc.lower() == "totp" and algorithm in ("sha1", "sha256", "sha512")
    if not (letters and is_usual and 6 <= digits <= 8 and period > 0):
        raise ValueError
    return base64.b32decode(letters + "=" * (-len(letters) % 8)), algorithm, digits, period
