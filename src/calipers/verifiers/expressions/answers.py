"""Compare the answer in a text with the expected answer. The kind of the expected answer decides how the text is read.

An expression may have several readings: ``1,234`` is either one number or two. The answer is right if any reading of it
is right.
"""

from __future__ import annotations

import re
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final, NamedTuple

from calipers.replies import extract_choice
from calipers.verifiers.expressions.answer_location import LONGEST_TEXT, LocatedAnswer, locate_answer
from calipers.verifiers.expressions.comparison import any_met
from calipers.verifiers.expressions.equality import equal_answers
from calipers.verifiers.expressions.evaluation import variable_names
from calipers.verifiers.expressions.latex import normalised_latex
from calipers.verifiers.expressions.nodes import Node, UnreadableError
from calipers.verifiers.expressions.parsing import parse_expression
from calipers.verifiers.expressions.tokens import (
    LONGEST,
    PLAIN_NAMES,
    Choices,
    has_scientific_notation,
    has_thousands_separators,
)
from calipers.verifiers.expressions.word_answers import (
    answer_words,
    boxed_option,
    equal_times,
    equal_words,
    expected_option,
    expected_words,
    option_in_prose,
    parse_time,
    plain_text,
)

_LONGEST: Final = 4 * LONGEST
_OPTIONS: Final = "ABCDEFGHIJ"
_FEWEST_OPTIONS: Final = 4
_UNITS_LIKELY: Final = re.compile(r"\d\s*[A-Za-z]{2,4}(?![A-Za-z])")
_SINGLE_LETTER: Final = re.compile(r"\\(?:text|mbox|mathrm|textbf|textrm)\s*\{\s*[A-Za-z]\s*\}")
_FIRST_WORD: Final = re.compile(r"\W*([^\W\d_]{2,})[,:]?\s+(?!=)\S")
_SIGN_FIRST: Final = re.compile(r"[-+=<>*/^−]")
_WORDED: Final = re.compile(r"\A[^\\^_]*[^\W\d_]{3}[^\\^_]*\Z")
_LONE_SCRIPT: Final = re.compile(r"([\^_]|\\[pb]mod)\s*\{\s*([^\s{}\\])\s*\}")
_FORMULA: Final = re.compile(r"[A-Z][A-Za-z0-9_()]*[A-Za-z_][A-Za-z0-9_()]*")
_SET_AS_TEXT: Final = re.compile(r"\\(?:text|mathrm|mbox)(?![a-z])")
_LETTERS: Final = re.compile(r"[A-Za-z]{2,}")
_SLASHED: Final = re.compile(r"/\s*(?:\d+|[A-Za-z]|\\[a-z]+|\([^()]*\))\s*[A-Za-z(\\]")


class Comparison(NamedTuple):
    """The result of comparing two answers: ``met`` (None if uncertain), with a reason if not met."""

    met: bool | None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class _Reading:
    """A possible reading of an expression. With ``greedy`` everything after a slash is in the denominator. With
    ``lettered`` letters that are set as text are variables.
    """

    tree: Node
    greedy: bool
    lettered: bool


def compare_answers(expected: str, text: str) -> Comparison:
    """Compare the answer to verify in ``text`` with ``expected``, which may be bare, boxed, or between dollar signs."""
    try:
        return _compare(expected, text)
    except RecursionError:  # the caller's stack may already be deep
        return Comparison(None, "it is nested too deeply")


def _compare(expected: str, text: str) -> Comparison:
    wanted = _without_box(expected)
    found = locate_answer(text)
    if found.cut:
        return Comparison(None, "the text ends within its answer")
    option = expected_option(wanted)
    verdict = _compare_located(wanted, found) if option is None else _compare_option(option, text, found)
    if verdict.met is not None and found.doubted:
        return Comparison(None, "the words around the answer deny it or take it back")
    return verdict


def _compare_located(wanted: str, found: LocatedAnswer) -> Comparison:
    if not found.candidates:
        return Comparison(False, "there is no expression in the answer")
    verdicts = (_compare_candidate(wanted, said, prose=not found.boxed) for said in found.candidates)
    unclear = next(verdicts)
    verdict = unclear if unclear.met is not None else next((one for one in verdicts if one.met is not None), None)
    if verdict is None:
        return unclear
    if found.boxed:
        return _unless_later(wanted, verdict, found)
    if not verdict.met and any(_compare_candidate(wanted, said, prose=False).met for said in found.formulas):
        return Comparison(None, "the expected answer is in the text, but not stated as the answer")
    return verdict


@lru_cache(maxsize=1024)
def _without_box(expected: str) -> str:
    """Return the expected answer without the box or the solution around it."""
    if "\\boxed" in expected or "####" in expected:
        found = locate_answer(expected).candidates
        return found[0] if found else expected
    return expected.strip()


def _compare_option(option: str, text: str, found: LocatedAnswer) -> Comparison:
    if found.boxed:
        said = boxed_option(found.candidates[0])
        if said is None:
            return Comparison(None, "the box names none of the options by its letter")
        if found.later and (boxed_option(found.later[0]) or said) != said:
            return Comparison(None, "the text after the last box states a different answer")
    else:
        marked = boxed_option(found.candidates[0]) if found.marked else None
        labels = _OPTIONS[: max(_FEWEST_OPTIONS, _OPTIONS.index(option) + 1)]
        said = extract_choice(text, list(labels)).choice
        if said is None:
            said = marked or option_in_prose(text[-LONGEST_TEXT:]) or expected_option(text[:50])
        if said is None or (marked or said) != said:
            return Comparison(None, "the text does not say clearly which option is the answer")
    return Comparison(said == option, "" if said == option else f"the answer is option {said}")


def _unless_later(wanted: str, verdict: Comparison, found: LocatedAnswer) -> Comparison:
    """Return the verdict on the last box, or None if the text after the box states a different number as the answer."""
    for said in found.later:
        if not any(map(str.isdigit, said)):
            continue
        met = _compare_candidate(wanted, said, prose=True).met
        if met is not None:
            return (
                verdict
                if met == verdict.met
                else Comparison(None, "the text after the last box states a different answer")
            )
    return verdict


def _compare_candidate(wanted: str, said: str, *, prose: bool) -> Comparison:
    """Compare one candidate for the answer with the expected answer. With ``prose`` the candidate may be a sentence."""
    met = _equal_answers(wanted, said, prose=prose)
    if met:
        return Comparison(True)
    shown = " ".join(said.split())[:80]
    unclear = f"it is unclear whether {shown!r} is {wanted[:80]!r}"
    return Comparison(met, f"the answer is {shown}" if met is False else unclear)


def _equal_answers(wanted: str, said: str, *, prose: bool) -> bool | None:  # noqa: PLR0911 - one line a kind of answer
    if max(len(wanted), len(said)) > _LONGEST:
        return True if wanted == said else None
    if _without_spaces(wanted) == _without_spaces(said) != "":
        return True
    if _is_same_text(wanted, said):
        return True
    time, other = parse_time(wanted), parse_time(said)
    if time is not None and other is not None and (time[3] or other[3]):
        return equal_times(time, other)
    words = expected_words(wanted)
    if words is not None:
        return equal_words(words, answer_words(said)) if _SIGN_FIRST.match(plain_text(said)) is None else None
    if _LETTERS.fullmatch(plain_text(wanted)) and plain_text(wanted) == plain_text(said):
        return True
    if time is not None and time[3]:
        return False if _readings(said) else None
    if not plain_text(said):
        return False
    if prose and _is_sentence(said):
        return None
    return _compare_readings(_readings(wanted), _readings(said))


def _without_spaces(text: str) -> str:
    """Return an answer without its spaces, except between digits, where a space may separate two numbers."""
    return "".join(re.sub(r"(?<=\d)\s+(?=\d)", "_", _LONE_SCRIPT.sub(r"\1\2 ", normalised_latex(text))).split())


def _is_same_text(wanted: str, said: str) -> bool:
    """Whether two answers are the same text (``June 20``), or the same letters of which one is set as
    text (``CCl_4``).
    """
    if _WORDED.search(plain_text(wanted)) and plain_text(wanted).casefold() == plain_text(said).casefold():
        return True
    one, other = ("".join(plain_text(text).split()) for text in (wanted, said))
    return one == other and _FORMULA.fullmatch(one) is not None and _SET_AS_TEXT.search(wanted + said) is not None


def _is_sentence(text: str) -> bool:
    """Whether a candidate for the answer begins with a word and continues, so that it is not only an answer."""
    found = _FIRST_WORD.match(text)
    return found is not None and found[1].lower() not in PLAIN_NAMES


def _compare_readings(wanted: tuple[_Reading, ...], said: tuple[_Reading, ...]) -> bool | None:
    """Compare the readings of two expressions: True if any two readings are equal, None if slashes are ambiguous."""
    one_way = {one.greedy for one in wanted} == {one.greedy for one in said}
    by_slashes: dict[tuple[bool, bool], list[bool | None]] = defaultdict(list)
    for one in wanted:
        for other in said:
            if one.greedy == other.greedy or not one_way:
                met = equal_answers(one.tree, other.tree) if _are_comparable(one, other) else False
                by_slashes[one.greedy, other.greedy].append(met)
    verdicts = {any_met(met) for met in by_slashes.values()}
    return verdicts.pop() if len(verdicts) == 1 else None


def _are_comparable(one: _Reading, other: _Reading) -> bool:
    """Whether two readings can be compared: a single letter must be a variable in both, or a unit in both."""
    return not (one.lettered or other.lettered) or variable_names(one.tree) == variable_names(other.tree)


@lru_cache(maxsize=2048)
def _readings(text: str) -> tuple[_Reading, ...]:
    """Return the possible readings of an expression; empty if it cannot be read."""
    clean = normalised_latex(text)
    choices = [Choices()]
    for flag, may_be in (
        (
            "thousands",
            has_thousands_separators(clean) and (not re.search(r"[(\[{]", clean) or re.search(r",\s", clean)),
        ),
        ("scientific", has_scientific_notation(clean)),
        ("units", _UNITS_LIKELY.search(clean)),
        ("single_letters", _SINGLE_LETTER.search(clean)),
        ("greedy_slash", _SLASHED.search(clean)),
    ):
        choices += [replace(one, **{flag: True}) for one in choices] if may_be else []
    found: dict[_Reading, None] = {}
    for choice in choices:
        with suppress(UnreadableError):
            found[_Reading(parse_expression(clean, choice), choice.greedy_slash, choice.single_letters)] = None
    return tuple(found)
