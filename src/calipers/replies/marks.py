r"""Finds verdicts in explicit marks of a judge's reply.

Marks are ``[[A]]``, ``Choice: A``, ``\boxed{A}``, ``<answer>A</answer>``, ``[RESULT] A``. The caller says which values
a mark may have. The words that make a mark somebody else's, a template or a condition are lists in ``words/marks.txt``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

from calipers.replies.caveats.denials import is_attributed_to_others
from calipers.replies.caveats.mentions import is_only_mentioned
from calipers.replies.caveats.quotations import introduces_others_words, is_in_block_quote
from calipers.replies.rejected import Rejected
from calipers.replies.sentences import CORRECTING, FINAL
from calipers.replies.wordlists import regex_of_list

Value = TypeVar("Value", bound=Hashable)

# The text allowed after a value that follows a key. So "Verdict: a close race" is no verdict for *a*.
_END = (
    r"(?=\s*(?:$|[\n.,;!?|。，、；！]|</|<\||\#|//|[(（](?!s\))|"
    r"(?:is|was|because|since|as|for|with|due|wins?|over|[-–—]+)(?![A-Za-z0-9])))"
)
_UNBOUND = r"(?<!not_)(?<!not )(?<!not-)(?<!un_)(?<!non_)(?<!never )"
"""The position before a key, if no denial precedes it as in ``criteria_not_met``."""
_EMPHASIS = r"[*_'\"`]{0,4}"
_MOST = 64
"""The number of marks that are read, counted from the end; more marks are a repetition loop."""
_KEYS, _OPTION_AFTER, _OPTION_BEFORE, _CONDITION_BEFORE, _RESERVE_BEFORE, _OTHERS_ANSWER, _ANSWERS, _AND_OR = (
    regex_of_list("marks", name)
    for name in (
        "KEYS", "OPTION_AFTER", "OPTION_BEFORE", "CONDITION_BEFORE", "RESERVE_BEFORE", "OTHERS_ANSWER", "ANSWERS",
        "AND_OR",
    )
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Mark:
    """A mark found in a reply, as a regex match; the words before it may call it ``final`` or a correction."""

    match: re.Match[str]
    final: bool = False
    correcting: bool = False


@lru_cache(maxsize=256)
def _settings(value: str, keys: str) -> tuple[re.Pattern[str], ...]:
    known = rf"(?:{keys}|{_KEYS})"
    says = r"(?:[:=]|->|→|(?:is|was|为|是)(?=\W|[\u4e00-\u9fff]):?)"
    settings = (
        rf"(?<=\?)\s{{1,4}}{value}(?=\s?[.!]?\s{{0,8}}\Z)",
        rf"\[\[\s?{value}\s?\]\]",
        rf"\\{{1,2}}boxed\s?\{{\s?(?:\\{{1,2}}\w+\s?\{{\s?)?{value}\s?\}}",
        rf"\[(?:RESULT|VERDICT|ANSWER|CHOICE|DECISION|JUDGE?MENT|结果)\][\s:]{{0,4}}{value}{_END}",
        rf"<(?:final[_ ]?)?(?:{known}|output)>\s{{0,4}}{value}\s{{0,4}}</",
        (
            rf"(?<![A-Za-z0-9]){_UNBOUND}{known}{_EMPHASIS}(?:\s?\([^()\n]{{0,30}}\))?\s{{0,4}}{says}\s{{0,4}}{_EMPHASIS}"
            rf"\s{{0,4}}{value}{_END}"
        ),
    )
    return tuple(re.compile(setting, re.IGNORECASE | re.MULTILINE) for setting in settings)


def find_marks(text: str, value: str, keys: str) -> Iterator[Mark]:
    """Extract the marks of a reply that are the judge's own, in order.

    ``value`` and ``keys`` are regexes that ignore case. Two kinds of marks are omitted: marks that repeat the prompt
    ("[[A]] if ..., or [[B]]"), and a mark that the end of the text cuts off.
    """
    found: dict[int, re.Match[str]] = {}
    for pattern in _settings(value, keys):
        for match in pattern.finditer(text):
            found.setdefault(match.start(), match)
    return own_marks((found[start] for start in sorted(found)), _hands_over)


def own_marks(found: Iterable[re.Match[str]], is_others: Callable[[str], bool]) -> Iterator[Mark]:
    """Extract the judge's own verdicts from the last matches in a reply.

    ``is_others`` says whether the words before a match introduce somebody else's verdict.
    """
    end = 0
    for match in list(found)[-_MOST:]:
        start = match.start()
        before = match.string[max(end, start - 300) : start]
        if start < end or is_no_verdict(match) or is_cut_mark(match) or is_others(before):
            continue  # inside a longer mark, or not the judge's own
        is_final = FINAL.search(before[-30:] + match[0]) is not None
        yield Mark(match, is_final, CORRECTING.search(before + match[0]) is not None)
        end = match.end()


def _hands_over(before: str) -> bool:
    """Whether the words before a mark introduce a candidate's words with a colon: ``Kandidat A schreibt: [[A]]``."""
    line = before[-200:].rsplit("\n", 1)[-1].rstrip(" \t*_\"'`")
    return line.endswith((":", "：")) and introduces_others_words(line)


def agreed_value(found: Sequence[tuple[Value, Mark]]) -> tuple[Value, str | None]:
    """Extract the verdict of a reply's marks (``Verdict: A``, ``[[A]]``): the one of all, or of the last if the reply
    calls that final or a correction.

    The second result is a note on this choice, or None. Raises Rejected if the marks contradict each other.
    """
    values = [value for value, _ in found]
    if len(set(values)) == 1:
        return values[0], None
    last = found[-1][1]
    finals = {value for value, mark in found if mark.final}
    if last.correcting or (last.final and finals == {values[-1]}):
        return values[-1], "the last of several verdicts, which replaces the others"
    raise Rejected("several verdicts that contradict each other", doubt=True)


_IS_OPTION_AFTER = re.compile(
    rf"[\s*'\"`,.]{{0,4}}(?:{_OPTION_AFTER})\b|[*'\"`]{{0,2}}\s?[/|]|[\s*'\"`)\]]{{0,4}}[?？]"
    r"|[\s*'\"`)\]]{0,4}\((?:or|maybe|perhaps)\b",
    re.IGNORECASE,
)
_IS_OPTION_BEFORE = re.compile(
    rf"(?:\b(?:{_OPTION_BEFORE})[\s:,]{{0,4}}[\"'`*(]{{0,3}}|或者?|如果[^。\n]{{0,40}})$"
    rf"|\b(?:{_CONDITION_BEFORE})\b[^.;\n]{{0,80}}$|\b(?:{_RESERVE_BEFORE})[\s\"'`*(:]{{1,4}}$",
    re.IGNORECASE,
)
_IS_OTHERS = re.compile(rf"(?:'s?|\b(?:{_OTHERS_ANSWER}))[\s*_]{{1,4}}$", re.IGNORECASE)
_IS_ANSWER = re.compile(rf"(?:{_ANSWERS})", re.IGNORECASE)
_BEFORE_OTHER = re.compile(rf"\s{{0,3}}(?:,\s?)?(?:{_AND_OR})?\s?\[\[", re.IGNORECASE)
_AFTER_OTHER = re.compile(rf"\]\]\s{{0,3}}(?:,\s?)?(?:{_AND_OR})?\s?\Z", re.IGNORECASE)


def is_no_verdict(match: re.Match[str]) -> bool:
    """Whether an extracted mark is no verdict but a template, an option, a condition, or another's answer."""
    text, start, end = match.string, match.start(), match.end()
    before = text[max(0, start - 120) : start]
    line = before[before.rfind("\n") + 1 :]
    return (
        (_IS_OTHERS.search(before) is not None and _IS_ANSWER.match(match[0]) is not None)
        or _IS_OPTION_AFTER.match(text, end) is not None
        or _IS_OPTION_BEFORE.search(line) is not None
        or is_attributed_to_others(line)
        or _is_listed(match)
        or is_in_block_quote(text, start)
        or is_only_mentioned(text[:start], match[0], text[end:])
    )


def _is_listed(match: re.Match[str]) -> bool:
    """Whether a mark is one of several in a list: ``"winner": ["A", "B"]``, or ``[[A]], [[B]]`` on one line."""
    text, start, end = match.string, match.start(), match.end()
    if match[0].count("[") > match[0].count("]") and text[end : end + 8].lstrip(" \"'").startswith(","):
        return True
    if not match[0].startswith("[["):
        return False
    beside = (_BEFORE_OTHER.match(text, end), _AFTER_OTHER.search(text[max(0, start - 16) : start]))
    return any(found is not None and "\n" not in found[0] and found[0].strip(" []") for found in beside)


def is_cut_mark(match: re.Match[str]) -> bool:
    """Whether a reply ends inside the brackets of an extracted mark, so that the mark may be incomplete."""
    found = match[0]
    opened = sum(map(found.count, "[({")) - sum(map(found.count, "])}"))
    return opened > 0 and not match.string[match.end() :].strip("*_'\"` \n")
