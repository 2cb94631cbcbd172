"""Credentials that show by what is said of them: "my db password is ...", "API_KEY=...", "mein Kennwort lautet ..."."""

from __future__ import annotations

import re
from collections.abc import Callable

from .sought import Sought, sought
from .text import vocabulary

_NOUN = r"pass(?:word|wd|phrase|code)|p@ssword|pwd"
_GENERATED = (
    r"(?:secret|api|access|private|license|licence|encryption|signing|master)[\s_-]?key|authorization|credentials?"
    r"|(?:access|auth|api|bearer|refresh|secret|bot|session)?[\s_-]?token"
)
_CODE = (
    r"otp|(?:one[\s-]time|verification|2fa|mfa|security|access|door|gate|alarm|safe|unlock|entry)\s+(?:code|pin)"
    r"|pin(?:\s+(?:code|number))?|cvv2?|cvc2?|ssn|social\s+security\s+number|combination"
)
_SPACED_ABROAD = (
    r"password|contraseña|clave|mot\s+de\s+passe|passwort|kennwort|senha|parola|wachtwoord|lösenord(?:et)?|adgangskode|hasło|heslo"
    r"|şifrem?|mật\s+khẩu"
)
_OTHER_SCRIPT = r"密码|密碼|口令|パスワード|暗証番号|비밀번호|пароль|كلمة\s+(?:المرور|السر)|कूटशब्द|पासवर्ड|รหัสผ่าน"

_OF_WHAT = r"(?:\s+(?:for|of|to|on|at|from)\s+(?:[^\s:=.]{1,30}\s+){0,3}?[^\s:=.]{1,30})?"
_IS = r"(?:(?:is|are|was|were|will\s+be|=>|->|[=:：—–]|是|は|为|為)\s{0,3}){1,2}"
_IS_ABROAD = (
    r"(?:(?:ist|war|lautet|es|era|est|était|é|è|är|er|to|je|là|هي|هو|is|от\s+\S{1,30}|для\s+\S{1,30}|теперь|[=:：—–-]|是|为|為|は"
    r"|는|은)\s{0,3}){0,2}"
)
_VALUE = r"[\"'`“„«]?(?P<value>[^\s\"'`“”,;]{3,200})"
_HERE = r"(?<![A-Za-z])"

_MADE_UP = re.compile(r"\d|^\S{16,}$")
_MIXED = re.compile(r"(?=\S*[^\W\d_])(?=\S*\d)\S{5,}")
_BORDER = re.compile(r"[A-Za-z]\d|\d[A-Za-z]")
_IN_CODE = re.compile(
    r"(?:\$|%|<|\{\{|process\.env|os\.(?:environ|getenv)|env[.\[(]|getenv|secrets?\.|vault:|config\.|[A-Za-z_][\w.]{0,60}\()",
    re.IGNORECASE,
)
_UNIT = (
    r"\s?-?(?:characters?|chars?|digits?|letters?|words?|bits?|bytes?|days?|hours?|minutes?|months?|years?|times?|文字|桁|位"
    r"|个|個|자|символ)"
)
# An algorithm, a length, a state or a path is said of a credential and is none.
_ATTRIBUTE = re.compile(
    rf"(?:sha|md|aes|rsa|pbkdf|argon|base|utf|oauth|ecdsa|[hrep]s|tls|iso)-?\d[\w-]*$|\d{{1,4}}{_UNIT}"
    r"|[a-z-]+(?:ed|able|ible|sensitive|based|only)$|[a-z_-]+(?:/[a-z_-]+){2,}$",
    re.IGNORECASE,
)
_UNIT_NEXT = re.compile(_UNIT, re.IGNORECASE)
_NO_SECRET = vocabulary(
    "a an the in at on by of for from to not no never always now required optional needed missing wrong invalid expired "
    "correct incorrect set unset stored kept managed saved hashed encrypted rotated reset changed empty null none "
    "undefined too very also only still being generated located available valid different same string str bearer basic "
    "what where who how when why your my our this that it read sent passed given shared hidden masked "
    "out both either mandatory obligatory weak strong safe unsafe secure insecure fine good bad long short old new there "
    "here something anything unknown known up down true false yes see"
)


def _is_value(found: re.Match[str]) -> bool:
    value = found["value"]
    if _IN_CODE.match(value) or _ATTRIBUTE.match(value.strip(".!?:")) or _UNIT_NEXT.match(found.string, found.end()):
        return False
    return value.strip(".!?:").lower() not in _NO_SECRET


def _is_made_up(found: re.Match[str]) -> bool:
    return bool(_MADE_UP.search(found["value"])) and _is_value(found)


def _is_mixed(found: re.Match[str]) -> bool:
    return bool(_MIXED.match(found["value"])) and _is_value(found)


def _is_key(found: re.Match[str]) -> bool:
    return bool(_BORDER.search(found["value"])) and _is_value(found)


def _is_counted(found: re.Match[str]) -> bool:
    return _UNIT_NEXT.match(found.string, found.end()) is None


# A key or a token is also a notion ("the token is a JWT"), so it must look made up; whatever follows "password is" is one.
_SHAPES: tuple[tuple[Callable[[re.Match[str]], bool], str, str], ...] = (
    (
        _is_value,
        rf"{_HERE}(?:{_NOUN}|secret)(?!s\b)[\w)'\"]{{0,12}}\s{{0,3}}{_IS}{_VALUE}",
        "pass p@ss pwd secret",
    ),
    (_is_value, rf"{_HERE}(?:{_NOUN})(?!s\b){_OF_WHAT}\s{{0,3}}{_IS}{_VALUE}", "pass p@ss pwd"),
    (
        _is_made_up,
        rf"{_HERE}(?:{_GENERATED})(?!s\b)(?:['’]s)?(?:\s+value)?[\w)'\"]{{0,12}}{_OF_WHAT}\s{{0,3}}{_IS}{_VALUE}",
        "key authorization credential token",
    ),
    (
        lambda found: True,
        rf"{_HERE}(?:{_NOUN}|secret){_OF_WHAT}\s{{0,3}}{_IS}[\"“„«][^\"“”„«»\n]{{2,80}}\s[^\"“”„«»\n]{{1,80}}[\"”“»]",
        "pass p@ss pwd secret",
    ),
    (_is_mixed, rf"{_HERE}(?:{_NOUN})(?:['’]s|\s+(?:changed\s+)?to)?\s+{_VALUE}", "pass p@ss pwd"),
    (_is_mixed, rf"{_HERE}(?:pass|pw)\s?[:=]\s?{_VALUE}", "pass pw"),
    (
        _is_mixed,
        rf"{_HERE}(?:log(?:ged)?[\s-]?in|sign[\s-]?in|creds?|credentials)\b[^.\n:/]{{0,30}}?[:\s]\s?[\w.@-]{{2,40}}(?:\s/\s|:\s?){_VALUE}",
        "login log-in logged sign cred log",
    ),
    (
        _is_mixed,
        rf"{_HERE}us(?:e|ing)\s+{_VALUE}[\"'`”]?\s+as\s+(?:\w+\s+){{1,3}}(?:{_NOUN})(?![\w-]|\s+\w)",
        "pass p@ss pwd",
    ),
    (_is_key, rf"{_HERE}key{_OF_WHAT}\s{{0,3}}{_IS}[\"'`“]?(?P<value>[\w+/=-]{{12,200}})", "key"),
    (
        _is_counted,
        rf"{_HERE}(?:{_CODE})\b{_OF_WHAT}\s{{0,3}}(?:{_IS})?#?\d(?:[\d -]{{1,14}}\d)(?![\w:]|\.\d)",
        "otp code pin cvv cvc ssn number combination",
    ),
    (
        lambda found: True,
        r"\b(?:recovery|seed|backup|mnemonic)\s+(?:phrase|words)\W{1,3}(?:(?:is|are)\W{1,3})?(?:[a-z]{3,8}[\s,]+){11,23}[a-z]{3,8}\b",
        "recovery seed backup mnemonic",
    ),
    (
        _is_made_up,
        rf"(?<![^\W_])(?:{_SPACED_ABROAD})\s{{0,3}}{_IS_ABROAD}[\"'`“„«]?(?P<value>[!-~]{{4,200}})",
        "password clave passe passwort kennwort senha parola wachtwoord adgangskode heslo",
    ),
    (
        _is_value,
        rf"(?<![^\W_])(?:{_SPACED_ABROAD})\s?[:=]\s?{_VALUE}",
        "password clave passe passwort kennwort senha parola wachtwoord adgangskode heslo",
    ),
    (_is_value, rf"(?:{_OTHER_SCRIPT})\s{{0,3}}{_IS_ABROAD}[\"'`“„«]?(?P<value>[!-~]{{4,200}})", ""),
)
_SPOKEN: tuple[tuple[Callable[[re.Match[str]], bool], Sought], ...] = tuple(
    (judge, sought(pattern, clues)) for judge, pattern, clues in _SHAPES
)


def has_spoken_secret(statement: str, lowered: str) -> bool:
    """Whether a text gives the value of a credential it speaks of. `lowered` is the text in lower case."""
    return any(
        sign.may_be_in(statement, lowered) and any(map(judge, sign.pattern.finditer(statement)))
        for judge, sign in _SPOKEN
    )
