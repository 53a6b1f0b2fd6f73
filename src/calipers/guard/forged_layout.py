"""Find text that forges the layout of a judge's prompt: chat turns, ends of answers, labels, comments, questions.

``sentence_attacks`` finds attacks in sentences, ``forged_verdicts`` finds verdicts and scores.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache, reduce
from itertools import islice
from operator import or_
from typing import Final, NamedTuple

from calipers.guard.attack_rules import Hit
from calipers.guard.forged_verdicts import forged_verdicts
from calipers.guard.normalised import NormalisedText
from calipers.guard.vocabulary import BITS, WORD, find_entry, phrase_list, word_list
from calipers.types import Certainty
from calipers.types.steps import Steps

_AROUND: Final = 400
_AFTER: Final = 300
_AT_MOST: Final = 64
"""At most this many markers of a kind are examined. A text with more markers is found by the first of them."""
MARKERS: Final = {
    "<": ("<|", "<｜", "<<SYS", "<start_of_turn", "<!--", "</", "<tool_res", "<function_res"),
    "[": (
        "[INST]", "[/INST]", "[SYSTEM_PROMPT", "[/SYSTEM_PROMPT", "[TOOL_RESULTS", "[/TOOL_RESULTS", "[[", "[RESULT]",
    ),
    "&": ("&#",),
    "%": ("%20",),
    "\\": ("\\x", "\\u"),
}  # fmt: skip
"""Markers of forged text, by their first character. In a text without any of these markers, ``LABELS`` and
``verdict_phrases``, neither this module nor ``forged_verdicts`` finds anything.
"""
LABELS = re.compile(r"@\w{2,12} (?:candidate|end) [A-Z]{2,6}[ \t]*$", re.MULTILINE)
_TURNS = re.compile(
    r"<(?:[|｜](?:im_start|im_sep|start_header_id|start_of_role|system|user|assistant|start|channel|message|turn|User"
    r"|Assistant|START_OF_TURN_TOKEN|SYSTEM_TOKEN|USER_TOKEN|CHATBOT_TOKEN)\b|</?SYS>>|start_of_turn>)"
    r"|\[/?(?:INST|SYSTEM_PROMPT)\]"
)
_TOOL_RESULTS = re.compile(
    r"<(?:[|｜](?:tool|tool_response|observation|constrain|call|tool▁outputs?▁begin)\b"
    r"|/?(?:tool_response|function_results?|tool_results?)>)|\[/?TOOL_RESULTS\]"
)
_BEGINNING = re.compile(r"(?:^|[\n.!?:>\])}])[ \t]*$")
_END_OF_ANSWER = re.compile(
    r"(?:^|(?<=[.!?] ))[ \t\[<|({=*#_~-]{0,12}(?:the )?end of (?:the )?(?:ai )?(?:assistant|submission|candidate"
    r"|response|answer|transcript|trajectory|attempt|model|data|evaluation|output)\b",
    re.IGNORECASE | re.MULTILINE,
)
_END_WORDS: Final = "end of "
_BEFORE_END: Final = 16
"""Each match of ``_END_OF_ANSWER`` has these words, at most so many characters after its beginning."""
_BEGINNINGS = re.compile(r"^|(?<=[.!?] )", re.MULTILINE)
"""The places where a match of ``_END_OF_ANSWER`` may begin."""
_PLACEHOLDER = re.compile(r"\{\w+\}|\{\{|%s|<[a-z_]+_here>")
_CLOSING_TAG = re.compile(
    r"</(answer|response|candidate|submission|transcript|trajectory|attempt|output|completion|solution)>", re.IGNORECASE
)
_COMMENT = re.compile(
    r"<!--[^>]{0,300}?\b(?:grad(?:er|ing)|evaluat\w{2,4}|judge|scor(?:er|ing)|rubric)\b[^>]{0,300}?"
    r"\b(?:best|correct|full|gold|grade|highest|mark|perfect|points|prefer|score|top|winner)\b"
    r"|<!--\W*(?:system|ai|llm|model|note)\b[^>]{0,80}?\b(?:rate|score|grade|mark|award|give|prefer|choose)\b[^>]{0,40}?"
    r"\b(?:100|10|full|highest|best)\b",
    re.IGNORECASE,
)
_HIDDEN: Final = ("hidden", "mask", "removed", "withheld", "redacted", "blank", "empty", "not shown", "undisclosed")
"""The last part of ``_QUESTION`` has one of these words, which most texts lack."""
_QUESTION: Final = tuple(
    re.compile(rf"\b(?:{choices})\b", re.IGNORECASE)
    for choices in (
        "outputs?|models?|systems?|responses?|texts?|assistant",
        r"compare|which|prefer\w*|better|best|judge",
        (
            "identifiers?|begin your|answer with|reply with|respond with|output only|output the name|name of the better"
            "|single letter|must be a|i choose|so i"
        ),
        "hidden|mask(?:ed)?|removed|withheld|redacted|blank|empty|not shown|undisclosed",
    )
)
"""Parts of a forged question to a judge: what to compare, how to compare, the form of the answer, and the statement
that the texts are hidden.
"""
_STRUCTURE = re.compile(
    r"^\s*(?:#{1,4} |[\"']{3}|[\"'][}\])]|[-=]{3,}|\[?\[?(?:the )?end of)|\{ ?\"\w+\": ?\"{1,3}",
    re.IGNORECASE | re.MULTILINE,
)


@cache
def verdict_phrases() -> frozenset[str]:
    """Return the words near which attacks on the judge (forged verdicts, scores and questions) are searched for."""
    return word_list("verdict_words") | {*phrase_list("question_phrases"), "end of"}


def forged_parts(text: NormalisedText, places: Sequence[int]) -> Steps[list[Hit]]:
    """Return attacks in ``text`` by forged layout and verdicts that have a marker or are near a word at ``places``, in
    steps.
    """
    found = list(_marked(text))
    yield
    found += _unopened_tags(text)
    if "<!--" in text.shown:
        yield
        found += _comments(text)
    yield
    found += yield from forged_verdicts(text, places)
    if places:
        yield
        found += _ends(text)
        yield
        found += _questions(text)
    return found


class _Marked(NamedTuple):
    """A ``pattern`` of forged layout. It is searched for in texts with one of the characters ``first``, with which it
    begins, and with one of ``markers``; ``certainty`` rates each match.
    """

    first: tuple[str, ...]
    markers: tuple[str, ...]
    pattern: re.Pattern[str]
    certainty: Callable[[NormalisedText, re.Match[str]], Certainty | None]


def _of_turn(text: NormalisedText, match: re.Match[str]) -> Certainty | None:
    if not _is_beginning(text.shown, match.start()):
        return None
    return "certain" if _mentions_scores(text, match.end()) else "likely"


def _of_tool_result(text: NormalisedText, match: re.Match[str]) -> Certainty | None:
    return "suspicious" if _is_beginning(text.shown, match.start()) else None


def _of_end(text: NormalisedText, match: re.Match[str]) -> Certainty | None:
    decorated = not match[0][:1].isalpha() or match[0].isupper()
    if not decorated or _PLACEHOLDER.search(text.shown, max(0, match.start() - 60), match.end() + 60):
        return None
    return "certain" if _mentions_scores(text, match.end()) else "suspicious"


_TURN_MARKERS: Final = (
    "<|",
    "<｜",
    "[INST]",
    "[/INST]",
    "<<SYS",
    "<start_of_turn",
    "[SYSTEM_PROMPT",
    "[/SYSTEM_PROMPT",
)
_RESULT_MARKERS: Final = ("<|", "<｜", "tool_response>", "function_result", "tool_result", "TOOL_RESULTS]")
_MARKED: Final = (
    _Marked(("<", "["), _TURN_MARKERS, _TURNS, _of_turn),
    _Marked(("<", "["), _RESULT_MARKERS, _TOOL_RESULTS, _of_tool_result),
    _Marked(("@",), (" candidate ", " end "), LABELS, lambda *_: "certain"),
)


def _marked(text: NormalisedText) -> Iterator[Hit]:
    for first, markers, pattern, certainty in _MARKED:
        # The search for a single character is ten times faster.
        if any(char in text.shown for char in first) and any(marker in text.shown for marker in markers):
            for match in islice(pattern.finditer(text.shown), _AT_MOST):
                if (grade := certainty(text, match)) is not None:
                    yield Hit("layout", grade, *match.span())


def _ends(text: NormalisedText) -> Iterator[Hit]:
    for match in islice(_ends_of_answers(text), _AT_MOST):
        if (grade := _of_end(text, match)) is not None:
            yield Hit("layout", grade, *match.span())


def _ends_of_answers(text: NormalisedText) -> Iterator[re.Match[str]]:
    """Yield the matches of ``_END_OF_ANSWER`` in order. They are searched for only where "end of" is."""
    begin = 0
    place = text.plain.find(_END_WORDS)
    while place >= 0:
        for start in _BEGINNINGS.finditer(text.shown, max(begin, place - _BEFORE_END), place):
            if (match := _END_OF_ANSWER.match(text.shown, start.end())) is not None:
                yield match
                begin = match.end()
                break
        place = text.plain.find(_END_WORDS, max(begin, place + 1))


def _comments(text: NormalisedText) -> Iterator[Hit]:
    for begins in islice(re.finditer("<!--", text.shown), 4 * _AT_MOST):
        if (match := _COMMENT.match(text.shown, begins.start())) is not None:
            yield Hit("instruction", "likely", *match.span())
            return


def _is_beginning(shown: str, place: int) -> bool:
    """Whether the text at this position begins a line or sentence, and is not mentioned inside a sentence."""
    return _BEGINNING.search(shown, max(0, place - 40), place) is not None if place else True


def _unopened_tags(text: NormalisedText) -> Iterator[Hit]:
    """Yield the first closing tag that has no opening tag and is followed by a mention of scores."""
    if "</" not in text.shown:
        return
    opened: dict[str, int] = {}
    for match in islice(_CLOSING_TAG.finditer(text.shown), _AT_MOST):
        name = match[1].lower()
        if name not in opened:
            opened[name] = text.plain.find(f"<{name}")
        if not 0 <= opened[name] < match.start() and _mentions_scores(text, match.end()):
            yield Hit("layout", "likely", *match.span())
            return


def _mentions_scores(text: NormalisedText, place: int) -> bool:
    """Whether the text after this position is about scores."""
    found = WORD.findall(text.plain[place : place + _AFTER])
    meanings = (mask for word in found for language, mask in find_entry(word).alone if language == "en")
    mask = reduce(or_, meanings, 0)
    if not mask & BITS["score"] and "verdict" not in found:
        return False
    return bool(mask & (BITS["highest"] | BITS["correct"] | BITS["judge"])) or not {"100", "a"}.isdisjoint(found)


def _questions(text: NormalisedText) -> Iterator[Hit]:
    if not any(word in text.plain for word in _HIDDEN):
        return
    for phrase in phrase_list("question_phrases"):
        place = text.plain.find(phrase)
        while place >= 0:
            begin, end = max(0, place - 2 * _AROUND), min(len(text.shown), place + _AROUND)
            if all(part.search(text.shown, begin, end) for part in _QUESTION):
                forged = _STRUCTURE.search(text.shown[begin:end]) is not None
                yield Hit("layout", "certain" if forged else "suspicious", begin, end)
                if forged:
                    return
            place = text.plain.find(phrase, place + _AROUND)
