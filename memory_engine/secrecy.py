"""Finding credentials in a statement. Facts live longer and travel further than messages, so these are never kept."""

from __future__ import annotations

import re

from .sought import sought
from .text import vocabulary

REDACTED = "[redacted]"

_KEY_SHAPES = sought(
    r"\b(?:sk|pk|rk)[-_](?:[A-Za-z0-9]{1,12}[-_]){0,3}[A-Za-z0-9]{12,}"
    r"|\b(?:gh[pousr]|github_pat|glpat|xox[abprs]|npm|hf|pypi)[-_][A-Za-z0-9_-]{10,}"
    r"|\b(?:AKIA|ASIA)[0-9A-Z]{12,}\b|\bAIza[0-9A-Za-z_-]{20,}|\beyJ[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_.-]{4,}"
    r"|-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----"
    r"|\b(?:bearer|basic)\s+(?=[A-Za-z0-9._~+/-]{0,200}\d)[A-Za-z0-9._~+/-]{12,200}"
    r"|\b[a-z][a-z0-9+.-]{1,20}://[^\s/@:]{1,100}:[^\s/@]{1,200}@"
    r"|[?&](?:token|key|api_?key|sig|signature|password|secret|access_token)=[^&\s]{6,}",
    "sk- sk_ pk- pk_ rk- rk_ gh github_pat glpat xox npm hf pypi akia asia aiza eyj -----begin bearer basic :// ? &",
)
# Whatever follows "password is" is one. A key or a token is also a notion ("the token is a JWT"), so it must look made up.
_SPOKEN = (
    r"pass(?:word|wd|phrase|code)|pwd|secret|pin(?:\s+code)?|密码|密碼|パスワード|пароль|비밀번호|contraseña"
    r"|mot\s+de\s+passe|passwort"
)
_GENERATED = (
    r"(?:secret|api|access|private)[\s_-]?key|authorization|credentials?"
    r"|(?:access|auth|api|bearer|refresh|secret)?[\s_-]?token"
)
_ASSIGNED = sought(
    rf"(?<![A-Za-z])(?:(?P<generated>{_GENERATED})|{_SPOKEN})(?!s\b)[\w)'\"]{{0,12}}\s{{0,3}}"
    r"(?:(?:is|are|was|=|:|是|は|为|為)\s{0,3}){1,2}[\"'`]?(?P<value>[^\s\"'`,;]{3,200})",
    "pass pwd secret pin key authorization credential token",
)
_MADE_UP = re.compile(r"\d|^\S{16,}$")
_IN_CODE = re.compile(
    r"(?:\$|%|<|\{\{|process\.env|os\.(?:environ|getenv)|env[.\[(]|getenv|secrets?\.|vault:|config\.)", re.IGNORECASE
)
_NO_SECRET = vocabulary(
    "a an the in at on by of for from to not no never always now required optional needed missing wrong invalid expired "
    "correct incorrect set unset stored kept managed saved hashed encrypted rotated reset changed empty null none "
    "undefined too very also only still being generated located available valid different same string str bearer basic "
    "what where who how when why your my our this that it read sent passed given shared hidden masked"
)


def has_secret(statement: str) -> bool:
    """Whether a statement holds the value of a credential. Talking about keys and passwords is no secret."""
    lowered = statement.lower()
    if _KEY_SHAPES.is_in(statement, lowered):
        return True
    return _ASSIGNED.may_be_in(statement, lowered) and any(map(_is_secret, _ASSIGNED.pattern.finditer(statement)))


def _is_secret(assigned: re.Match[str]) -> bool:
    value = assigned["value"]
    if _IN_CODE.match(value) or value.strip(".!?:").lower() in _NO_SECRET:
        return False
    return assigned["generated"] is None or bool(_MADE_UP.search(value))
