"""Answers in words: the letter of an option, a name, a time of day.

The other modules of this folder compare numbers and expressions.
"""

from __future__ import annotations

import re
from typing import Final, TypeAlias

from calipers.verifiers.expressions.quantities import is_number_word
from calipers.verifiers.expressions.tokens import is_word

_WRAPPED: Final = re.compile(
    r"\\(?:text(?:bf|rm|it|sf|tt|normal|up|sc)?|mbox|hbox|mathrm|mathbf|mathit|mathsf|boldsymbol|operatorname|underline"
    r"|emph)\s*\{([^{}]*)\}"
)
_OPTION: Final = re.compile(r"\(?([A-J])\)?\.?|\(([A-J])\)\s+\S.*")
_OPTION_SAID: Final = re.compile(
    r"(?:(?i:the |correct |final )*(?i:answer|option|choice)\s*(?i:is)?\s*:?\s*)?"
    r"(?:\(\s*([A-Z])\s*\)|\[\s*([A-Z])\s*\]|([A-Z])(?:\s*[.):]|$)).*",
    re.DOTALL,
)
_IN_PROSE: Final = re.compile(
    r"(?<![\w'-])\(?([A-J])\)?\**\s+(?:is|must be)\s+(?:therefore\s+|thus\s+)?(?:the\s+)?(?:only\s+)?"
    r"(?:correct|right|best)\b(?:\s+(?:answer|option|choice))?"
    r"|\b(?i:option|choice)\s+(?i:is|must be)\s*:?\s*[*(\"']{0,4}([A-J])(?![\w'-])(?!\s+[a-z])"
    r"|(?:故选|應選|应选|选择|選擇|选|選|正解は)\s*[:：]?\s*[*(（$]{0,4}([A-J])(?![\w'-])"
)
_AMONG_BEFORE: Final = re.compile(r"\b(?:and|or|nor|if|not|whether)\s+(?:option\s+|choice\s+)?\Z", re.IGNORECASE)
_AMONG_BEHIND: Final = re.compile(r"\W*(?:and|or)\s+\(?[A-J]\b")
_DENIED_PROSE: Final = re.compile(r"(?i:\b(?:not|n't|false|wrong|why|assume|suppose)\b)[^.!?\n]{0,40}\Z")
_ANOTHER: Final = re.compile(r"\W*(?:or|and|oder|und|ou|et|o|y|[,/&|;])\b|\W*[,/&|;]\s*\(?[A-Z]\b", re.IGNORECASE)
_ARTICLES: Final = frozenset({"a", "an", "the"})
_TIME: Final = re.compile(r"(\d{1,2})(?::(\d\d))?(?::(\d\d))?\s*([ap])\.?\s*m\.?", re.IGNORECASE)
_TIME_ALONE: Final = re.compile(r"(\d{1,2}):(\d\d)(?::(\d\d))?")
_WORD: Final = re.compile(r"[^\W\d_]+")


def plain_text(text: str) -> str:
    r"""Remove LaTeX text commands and spacing from an answer to verify: ``\text{(C)}`` becomes ``(C)``."""
    for _ in range(5):
        bare = _WRAPPED.sub(r"\1", text)
        if bare == text:
            break
        text = bare
    text = re.sub(r"(?<!\\)[$~]|\\[!,;:() \[\]]|\\(?:left|right|displaystyle|q?quad)(?![a-zA-Z])|\*\*", " ", text)
    return " ".join(text.replace("{", " ").replace("}", " ").split()).strip(" .,;:。，；：")


def expected_option(expected: str) -> str | None:
    r"""Return the letter of the expected answer to compare if it is an option: ``C``, ``(C)`` or ``\text{(C)}``."""
    found = _OPTION.fullmatch(plain_text(expected))
    return found[1] or found[2] if found else None


def boxed_option(text: str) -> str | None:
    """Return the letter of the option in a boxed answer to verify, or None: ``C``, ``(C) 5``, ``C. Paris``."""
    found = _OPTION_SAID.fullmatch(plain_text(text).removesuffix("."))
    if found is None or _ANOTHER.match(plain_text(text)[found.end(found.lastindex or 0) :]):
        return None
    return found[found.lastindex or 0]


def option_in_prose(text: str) -> str | None:
    """Return the option that an answer to verify calls right in prose (``Therefore, C is correct``).

    None if there are several.
    """
    said = set()
    for found in _IN_PROSE.finditer(text):
        before = text[max(0, found.start() - 60) : found.start()]
        if _AMONG_BEFORE.search(before) or _AMONG_BEHIND.match(text, found.end()) or _DENIED_PROSE.search(before):
            return None
        said |= {letter for letter in found.groups() if letter}
    return said.pop() if len(said) == 1 else None


def expected_words(text: str) -> tuple[str, ...] | None:
    """Return the words of an expected answer to compare, without articles, or None if it is mathematics."""
    said = plain_text(text)
    runs = _WORD.findall(said)
    wrapped = bool(re.search(r"\\(?:text|mbox|hbox|mathrm)", text))
    if not runs or any(character.isdigit() for character in said) or re.search(r"[\\=+<>^_/*|]", said):
        return None
    if not wrapped and not all(is_word(run, alone=len(runs) == 1) or (len(runs) > 1 and len(run) > 1) for run in runs):
        return None
    if (wrapped and len(said) == 1) or is_number_word(said):
        return None
    return answer_words(text)


def answer_words(text: str) -> tuple[str, ...]:
    """Return the words of an answer to verify in lower case, without articles and punctuation."""
    words = re.findall(r"[^\W_]+", plain_text(text).casefold())
    return tuple(word for word in words if word not in _ARTICLES) or tuple(words)


def equal_words(expected: tuple[str, ...], found: tuple[str, ...]) -> bool | None:
    """Whether two answers to compare have the same words. None if one of them has additional words."""
    if "".join(expected) == "".join(found):
        return True
    if not found:
        return False
    if set(expected) <= set(found) or set(found) <= set(expected):
        return None
    return False


Time: TypeAlias = tuple[int, int, int, str]
"""Hour, minute and second, and ``a`` (before noon), ``p`` (after noon) or an empty text if unknown."""


def parse_time(text: str) -> Time | None:
    """Parse a time of day in an answer to verify. None if the answer is not a time."""
    said = plain_text(text)
    found = _TIME.fullmatch(said) or _TIME_ALONE.fullmatch(said)
    if found is None:
        return None
    hour, half = int(found[1]), found[4].lower() if found.re is _TIME else ""
    if found.re is _TIME_ALONE and hour > 12:
        hour, half = hour - 12, "p"
    return hour, int(found[2] or 0), int(found[3] or 0), half


def equal_times(expected: Time, found: Time) -> bool | None:
    """Whether two answers to compare are the same time of day.

    None if only one of them says whether it is before or after noon.
    """
    if expected[:3] != found[:3]:
        return False
    return expected[3] == found[3] or (False if expected[3] and found[3] else None)
