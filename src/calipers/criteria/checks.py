"""Refuses written criteria, and says why: the writer reads text of others, and what it writes instructs a judge."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from calipers.guard.injection import find_attacks
from calipers.render.escapes import escape
from calipers.replies.proposed import ProposedCriterion
from calipers.types import Criterion

LONGEST: Final = 300
SHORTEST: Final = 8
ALIKE: Final = 0.7
"""Two criteria that share at least this part of their words (Jaccard index) are the same one."""

_NAMES_ONE = re.compile(
    r"\b(?:[Aa]ttempt|[Cc]andidate|[Rr]esponse|[Tt]rajectory|[Cc]ompletion)s?\s+(?:#\s?)?(?:\d{1,3}|[A-Z])\b"
    r"|\b(?:first|second|third|last|other)\s+(?:attempt|candidate|response|trajectory)\b"
)
_SCORES = re.compile(
    r"\b(?:scores?|points?|marks?|grade[sd]?|rat(?:e|ing)s?)\s+(?:of\s+)?\d{1,3}\b|\b\d{1,3}\s*/\s*\d", re.IGNORECASE
)
_FORM: Final = (
    "length", "long", "longer", "longest", "short", "shorter", "shortest", "brief", "concise", "verbose", "verbosity",
    "detailed", "thorough", "comprehensive", "in-depth", "word", "words", "characters", "paragraphs", "markdown",
    "bullet", "bullets", "bulleted", "heading", "headings", "headers", "bold", "italics", "formatted", "formatting",
    "well-structured", "well-formatted", "emoji",
)  # fmt: skip
"""Words of criteria about length and layout, which any answer can have without being good."""
_FORM_WORDS: Final = re.compile("|".join(rf"\b{re.escape(one)}\b" for one in _FORM), re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Checked:
    """Criteria of a reply that may be used, and a reason for each that may not, in fixed words.

    A reason never quotes the criterion, which may hold an attack.
    """

    kept: tuple[Criterion, ...] = ()
    refused: tuple[str, ...] = ()


def _problem(text: str, task: str, known: Iterable[frozenset[str]]) -> str | None:
    """Return why a criterion may not be used, in fixed words; None if it may. ``known`` are the words of others."""
    if length_of(text) < SHORTEST or len(text) > LONGEST:
        return f"it has fewer than {SHORTEST} or more than {LONGEST} characters"
    words = words_of(text)
    of_text, of_task = ({match[0].casefold() for match in _FORM_WORDS.finditer(part)} for part in (text, task))
    problems = (
        (escape(text) != text, "it holds invisible characters, tokens of a chat template or imitated layout"),
        (_is_attack(text), "it addresses the judge"),
        (bool(_SCORES.search(text)) and not _SCORES.search(task), "it names a score"),
        (bool(_NAMES_ONE.search(text)), "it names one of the attempts"),
        (not of_text <= of_task, "it is about length or layout, which the task does not mention"),
        (any(overlap(words, other) >= ALIKE for other in known), "it is there already"),
    )
    return next((problem for applies, problem in problems if applies), None)


def _is_attack(text: str) -> bool:
    return any(hit.certainty != "suspicious" for hit in find_attacks([{"role": "assistant", "content": text}]))


_UNSPACED: Final = (
    "\u0e00-\u109f\ua9e0-\ua9ff\uaa60-\uaa7f"  # Thai, Lao, Tibetan, Burmese
    "\u1780-\u17ff\u19e0-\u19ff\u1950-\u19df\u1a20-\u1aaf"  # Khmer, Tai
    "\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3031-\u303c"  # Han: radicals, marks of repetition, numerals
    "\u3040-\u312f\u31a0-\u31bf\u31f0-\u31ff\uff66-\uff9f"  # Kana, Bopomofo
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han
    "\ua000-\ua4cf\ua980-\ua9df\u1b00-\u1b7f"  # Yi, Javanese, Balinese
)
"""The letters of scripts without spaces between words, as ranges of a regular expression."""
_WORDS: Final = re.compile(rf"[{_UNSPACED}]+|[^\W{_UNSPACED}]+")
_IS_UNSPACED: Final = re.compile(f"[{_UNSPACED}]")


def words_of(text: str) -> frozenset[str]:
    """Return the words by which a written criterion is compared with others: those of three letters and more.

    In scripts without spaces between words, such as Chinese, they are pairs of adjacent letters.
    """
    every: set[str] = set()
    for word in _WORDS.findall(text.casefold()):
        if _IS_UNSPACED.match(word):
            every.update([word[at : at + 2] for at in range(len(word) - 1)] or [word])
        elif len(word) > 2 or not word.isascii():
            every.add(word)
    return frozenset(every)


def length_of(text: str) -> int:
    """Return a text's length in letters, to compare with a minimum; of scripts without spaces each counts as two."""
    return len(text) + len(_IS_UNSPACED.findall(text))


def overlap(one: frozenset[str], other: frozenset[str]) -> float:
    """Return the share of words that two criteria have in common, from 0 to 1 (Jaccard index)."""
    return len(one & other) / len(one | other) if one | other else 1.0


def check_criteria(proposed: Iterable[ProposedCriterion], task: str, *, most: int) -> Checked:
    """Return the criteria of a reply that may be used, at most ``most``, and why others may not.

    ``task`` is the text of the task in lower case.
    """
    kept: list[Criterion] = []
    refused: list[str] = []
    for proposal in proposed:
        if len(kept) == most:
            refused.append(f"there are more than {most}")
        elif (problem := _problem(proposal.text, task, (words_of(other.text) for other in kept))) is not None:
            refused.append(problem)
        else:
            kept.append(Criterion(f"w{len(kept) + 1}", proposal.text, proposal.points, veto=proposal.veto))
    return Checked(tuple(kept), tuple(refused))
