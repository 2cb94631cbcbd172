"""The form of a key: `cmi_<environment>_<8 hex digits>_<43 characters>`. What stands before the last `_` is public."""

import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass

_FORM = re.compile(r"(cmi_[a-z0-9]{1,16}_[0-9a-f]{8})_([A-Za-z0-9_-]{43})")
_NOBODY = "0" * 64


@dataclass(frozen=True, slots=True)
class NewKey:
    """A key that was just made: the whole of it, which nobody keeps, and what is kept."""

    text: str
    prefix: str
    secret_sha256: str


def make_key(environment: str) -> NewKey:
    """A key with a secret of 32 random bytes."""
    prefix = f"cmi_{environment}_{secrets.token_hex(4)}"
    secret = secrets.token_urlsafe(32)
    return NewKey(f"{prefix}_{secret}", prefix, digest(secret))


def split_key(text: str) -> tuple[str, str] | None:
    """Prefix and secret; None for what cannot be a key."""
    match = _FORM.fullmatch(text)
    return None if match is None else (match[1], match[2])


def digest(secret: str) -> str:
    """What is kept of a secret. It has 256 random bits, so nothing slower is needed."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def is_secret(secret: str, secret_sha256: str | None) -> bool:
    """Whether a secret is the one that was kept, in the same time whatever is wrong with it."""
    return hmac.compare_digest(digest(secret), secret_sha256 or _NOBODY)
