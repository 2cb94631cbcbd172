"""Rewriting what is nearly JSON as JSON: what models write when they think of Python or JavaScript."""

from __future__ import annotations

import re

_TOKEN = re.compile(
    r'(?P<quoted>"(?:[^"\\]|\\.)*+"?)'
    r"|(?<=[\[{,:\s])(?P<single>'(?:[^'\\]|\\.|'(?!\s*+[,:}\]]))*+'?)"
    r"|(?<=[\[{,:\s])“(?P<curly>[^“”]*+)”"
    r"|(?P<comment>(?<!\S)//[^\n]*+|/\*[^*]*+(?:\*(?!/)[^*]*+)*+\*/)"
    r"|(?P<comma>,(?=\s*+[}\]]))"
    r"|(?<=[{,\s])(?P<key>[A-Za-z_]\w{0,60})(?=\s{0,3}:)"
    r"|\b(?P<constant>None|True|False)\b",
    re.DOTALL,
)
_CONSTANTS = {"None": "null", "True": "true", "False": "false"}
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)


def as_json(text: str) -> str:
    """The text with single and curly quotes, bare keys, comments, trailing commas and Python's constants put right.

    Strings in double quotes stay as they are; a string that does not end stays open.
    """
    return _TOKEN.sub(_rewritten, text)


def _rewritten(token: re.Match[str]) -> str:
    match token.lastgroup:
        case "single":
            written = token.group()
            return _quoted(written[1:-1]) if len(written) > 1 and written.endswith("'") else written
        case "curly":
            return _quoted(token["curly"])
        case "key":
            return f'"{token["key"]}"'
        case "constant":
            return _CONSTANTS[token["constant"]]
        case "comment" | "comma":
            return " "
        case _:
            return token.group()


def _quoted(raw: str) -> str:
    """A string's inside in double quotes; of its escapes only that of a quote is not JSON's."""
    plain = _ESCAPE.sub(lambda escape: "'" if escape[1] == "'" else escape[0], raw)
    return '"' + re.sub(r'(?<!\\)"', r"\"", plain) + '"'
