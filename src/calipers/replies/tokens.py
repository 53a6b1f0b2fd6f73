"""Patterns for the pieces of damaged JSON: quotes of all kinds, keys, comments, and the ends of bare values.

All patterns are bounded, so that no text makes them slow. ``tolerant`` decides when each pattern applies.
"""

from __future__ import annotations

import re
from typing import Any

KNOWN_KEYS = r"(?:scores?|trajectory[_ -]?ids?|explanations?|rating|reason(?:ing|s)?|candidate(?:[_ -]?id)?|id)"
QUOTES = "\"'“”„‟＂‘’‚‛`´"
FAMILY = {
    '"': '["＂\\\\]',
    "＂": '["＂\\\\]',
    "'": r"['\\]",
    "`": r"[`´\\]",
    "´": r"[`´\\]",
    **dict.fromkeys("“”„‟", '[“”„‟"\\\\]'),
    **dict.fromkeys("‘’‚‛", r"[‘’‚‛'\\]"),
}
CLOSING = {mark: re.compile(pattern) for mark, pattern in FAMILY.items()}
_Q = rf"[{QUOTES}]"
COLON = r"\s{0,200}(?:[:：]\s{0,200}[:：]?|=>?|->|→)"
KEY_EXACT = re.compile(rf"\"([^\"\n\\]{{0,120}})\"{COLON}|'([^'\n\\]{{0,120}})'{COLON}")
KEY_LOOSE = re.compile(
    rf"{_Q}{{0,3}}[ \t]{{0,3}}([^{QUOTES}:：=，；,;{{}}\[\]\n<>()]{{0,60}}?)[ \t]{{0,3}}{_Q}{{0,3}}{COLON}"
)
KEY_NO_COLON = re.compile(rf"{_Q}([^{QUOTES}:,{{}}\[\]\n]{{1,60}}){_Q}\s{{0,20}}(?=[{{\[\"'“\d.\-])")
KEY_QUOTED = re.compile(rf"{_Q}[^{QUOTES}{{}}\[\],\n]{{0,60}}{_Q}{COLON}")
KEY_KNOWN = re.compile(rf"{_Q}{KNOWN_KEYS}{_Q}\s{{0,20}}[:：]", re.IGNORECASE)
KEY_BARE = re.compile(rf"[\w][\w -]{{0,40}}{COLON}(?=[\[{{{QUOTES}\d\-.])")
KEY_KNOWN_BARE = re.compile(rf"{KNOWN_KEYS}\s{{0,5}}[:：]\s{{0,20}}[{QUOTES}\d]", re.IGNORECASE)
SPACE = re.compile(r"[\s,，;；\ufeff\u200b\u200c\u200d\u2060]+")
BLANK = re.compile(r"[\s\ufeff\u200b\u200c\u200d\u2060]*")
CLOSERS = re.compile(r"[\s}\]｝］]*")
STRUCTURAL = re.compile(r"[{}\[\]｛｝［］\"“]")
NEXT_ROW = re.compile(
    rf"[}}\]]\s{{0,40}},\s{{0,40}}{_Q}?[\w ]{{1,40}}{_Q}?\s{{0,9}}[:：]|[}}\]]\s{{0,40}},\s{{0,40}}\{{"
)
BRACKET = re.compile(r"[{}\[\]]")
BARE_STOP = re.compile(rf"[,，;；}}\]｝］{{\[｛［\n/#{QUOTES}]")
UNCLOSED_NUMBER = re.compile(r"[-+]?\d[\d.,/% ]{0,16}(?=[}\]]|,\s{0,40}[\"'{])")
NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,17})(?:\.\d{1,25})?(?:[eE][+-]?\d{1,4})?(?=\s{0,40}[}\]])")
FENCE_END = re.compile(r"```|~~~|</|<\|")
LITERALS: dict[str, Any] = {
    "true": True, "false": False, "null": None, "none": None, "nan": float("nan"), "infinity": float("inf"),
    "-infinity": float("-inf"), "undefined": None, "inf": float("inf"),
}  # fmt: skip


def is_balanced(raw: str) -> bool:
    """Whether the brackets inside a string of extracted, damaged JSON are balanced."""
    depth = 0
    for bracket in BRACKET.findall(raw):
        depth += 1 if bracket in "{[" else -1
        if depth < 0:
            return False
    return depth == 0


def is_comment(text: str, at: int) -> bool:
    """Whether a comment starts at position ``at`` of a reply whose damaged JSON is extracted."""
    return text.startswith(("//", "/*"), at) or (text[at : at + 1] == "#" and text[at - 1 : at].isspace())


def unescape_string(raw: str) -> str:
    """Return the content of an extracted JSON string without its backslashes."""
    if "\\" not in raw:
        return raw
    return re.sub(r"\\(.)", lambda m: {"n": "\n", "t": "\t", "r": "\r"}.get(m[1], m[1]), raw, flags=re.DOTALL)


def number_of_literal(raw: str) -> float | int:
    """Convert a plain number in extracted, damaged JSON to an int or a float."""
    return int(raw) if raw.lstrip("-").isdecimal() else float(raw)


def after_blanks(text: str, at: int) -> int:
    """Return the position after the blanks that begin at ``at`` in a reply whose damaged JSON is extracted."""
    found = BLANK.match(text, at)
    return found.end() if found else at
