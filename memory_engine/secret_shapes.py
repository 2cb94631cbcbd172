"""Credentials that show by their form alone: keys with the mark of their maker, tokens, connection strings, card numbers."""

from __future__ import annotations

import re

from .sought import sought

_KEY_SHAPES = sought(
    r"\b(?:sk|pk|rk)[-_](?:[A-Za-z0-9]{1,12}[-_]){0,3}[A-Za-z0-9]{12,}"
    r"|\b(?:gh[pousr]|github_pat|glpat|xox[abprs]|npm|hf|pypi|whsec|dop_v1|shpat|age-secret-key)[-_][A-Za-z0-9_-]{10,}"
    r"|\b(?:AKIA|ASIA)[0-9A-Z]{12,}\b|\bAIza[0-9A-Za-z_-]{20,}|\beyJ[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_.-]{4,}"
    r"|\b(?:hv[sb]|ya29)\.[A-Za-z0-9_-]{12,}|\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}|\b\d{8,10}:AA[A-Za-z0-9_-]{30,}"
    r"|-----BEGIN [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
    r"|\b(?:bearer|basic)\s+(?=[A-Za-z0-9._~+/-]{0,200}\d)[A-Za-z0-9._~+/-]{12,200}"
    r"|\b[a-z][a-z0-9+.-]{1,20}://[^\s/@:]{0,100}:[^\s/@]{1,200}@"
    r"|[?&](?:token|key|api_?key|sig|signature|password|secret|access_token)=[^&\s]{6,}"
    r"|\b(?:account|shared\s?access)key\s?=\s?[A-Za-z0-9+/=]{16,}|\bcookie:\s?[^\s=]{1,40}=[^\s;]{8,}"
    r"|\bmysql(?:dump)?\b[^\n]{0,80}\s-p[^\s-]\S{3,}",
    "sk- sk_ pk- pk_ rk- rk_ gh github_pat glpat xox npm hf pypi whsec dop_v1 shpat age-secret akia asia aiza eyj hvs. hvb. "
    "ya29. sg. :aa -----begin bearer basic :// ? & accountkey accesskey access cookie: mysql",
)
_CARD_WORD = re.compile(
    r"\b(?:cards?|visa|mastercard|amex|credit|debit|cvv|cvc|kreditkarte|karte|tarjeta|carte|cart[aã]o|carta)\b|карт|カード|卡|카드",
    re.IGNORECASE,
)
_DIGITS = re.compile(r"(?<![\w.,-])[2-6]\d{3}(?:(?P<gap>[ -]?)\d{2,6}){2,4}(?![\w-])")
_CARD_LENGTHS = range(13, 20)


def has_secret_shape(statement: str, lowered: str) -> bool:
    """Whether a credential stands in a text, whatever is said about it. `lowered` is the text in lower case."""
    return _KEY_SHAPES.is_in(statement, lowered) or _has_card(statement)


def _has_card(statement: str) -> bool:
    found = [match for match in _DIGITS.finditer(statement) if _is_card_number(match.group())]
    # A tenth of all long numbers pass the check, so a bare one counts only where cards are spoken of.
    return any(match["gap"] for match in found) or (bool(found) and bool(_CARD_WORD.search(statement)))


def _is_card_number(written: str) -> bool:
    digits = [int(character) for character in written if character.isdecimal()]
    if len(digits) not in _CARD_LENGTHS:
        return False
    doubled = [sum(divmod(2 * digit, 10)) for digit in digits[-2::-2]]
    return (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0
