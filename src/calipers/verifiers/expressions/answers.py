"""A text against the answer expected: the kind of the expected answer decides how the text is read.

An expression may have several readings (``1,234`` is a number or two); it is the answer if one of them is.
"""

from __future__ import annotations

import re
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final, NamedTuple

from calipers.extract import extract_choice
from calipers.verifiers.expressions.answer_location import LONGEST_TEXT, Located, located
from calipers.verifiers.expressions.comparison import any_met
from calipers.verifiers.expressions.equality import same
from calipers.verifiers.expressions.evaluation import variables
from calipers.verifiers.expressions.latex import cleaned
from calipers.verifiers.expressions.nodes import Node, UnreadableError
from calipers.verifiers.expressions.parsing import parsed
from calipers.verifiers.expressions.tokens import LONGEST, PLAIN_NAMES, Choices, has_scientific, has_thousands
from calipers.verifiers.expressions.word_answers import (
    option_in_prose,
    option_of,
    option_said,
    plain,
    same_time,
    same_words,
    time_of,
    words_of,
    words_said,
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


class Compared(NamedTuple):
    """Whether a text gives the answer expected; if not, or if that cannot be told, why."""

    met: bool | None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class _Reading:
    """One way to read an expression. ``greedy`` if all that follows a slash is below it, ``lettered`` if letters set as
    text are variables.
    """

    tree: Node
    greedy: bool
    lettered: bool


def compared(expected: str, text: str) -> Compared:
    """Whether the answer in ``text`` is ``expected``, which is bare, or in a box or dollar signs."""
    try:
        return _compared(expected, text)
    except RecursionError:  # the caller's own stack may be deep
        return Compared(None, "it is nested too deeply")


def _compared(expected: str, text: str) -> Compared:
    wanted = _bare(expected)
    found = located(text)
    if found.cut:
        return Compared(None, "the text ends within its answer")
    option = option_of(wanted)
    verdict = _found(wanted, found) if option is None else _option(option, text, found)
    if verdict.met is not None and found.doubted:
        return Compared(None, "the words around the answer deny it or take it back")
    return verdict


def _found(wanted: str, found: Located) -> Compared:
    if not found.said:
        return Compared(False, "there is no expression in the answer")
    verdicts = (_one(wanted, said, prose=not found.boxed) for said in found.said)
    unclear = next(verdicts)
    verdict = unclear if unclear.met is not None else next((one for one in verdicts if one.met is not None), None)
    if verdict is None:
        return unclear
    if found.boxed:
        return _unless_later(wanted, verdict, found)
    if not verdict.met and any(_one(wanted, said, prose=False).met for said in found.before):
        return Compared(None, "the expected answer is in the text, but not where an answer stands")
    return verdict


@lru_cache(maxsize=1024)
def _bare(expected: str) -> str:
    """The expected answer, without a box or a solution around it."""
    if "\\boxed" in expected or "####" in expected:
        found = located(expected).said
        return found[0] if found else expected
    return expected.strip()


def _option(option: str, text: str, found: Located) -> Compared:
    if found.boxed:
        said = option_said(found.said[0])
        if said is None:
            return Compared(None, "the box names none of the options by its letter")
        if found.later and (option_said(found.later[0]) or said) != said:
            return Compared(None, "behind the last box stands another answer")
    else:
        marked = option_said(found.said[0]) if found.marked else None
        labels = _OPTIONS[: max(_FEWEST_OPTIONS, _OPTIONS.index(option) + 1)]
        said = extract_choice(text, list(labels)).choice
        if said is None:
            said = marked or option_in_prose(text[-LONGEST_TEXT:]) or option_of(text[:50])
        if said is None or (marked or said) != said:
            return Compared(None, "the text does not say clearly which option is the answer")
    return Compared(said == option, "" if said == option else f"the answer is option {said}")


def _unless_later(wanted: str, verdict: Compared, found: Located) -> Compared:
    """The verdict on the last box, unless the text goes on to say that another number is the answer."""
    for said in found.later:
        if not any(map(str.isdigit, said)):
            continue
        met = _one(wanted, said, prose=True).met
        if met is not None:
            return verdict if met == verdict.met else Compared(None, "behind the last box stands another answer")
    return verdict


def _one(wanted: str, said: str, *, prose: bool) -> Compared:
    """Whether ``said``, an answer without text around it, is the expected one; with ``prose`` it may be a sentence."""
    met = _same(wanted, said, prose=prose)
    if met:
        return Compared(True)
    shown = " ".join(said.split())[:80]
    unclear = f"it is unclear whether {shown!r} is {wanted[:80]!r}"
    return Compared(met, f"the answer is {shown}" if met is False else unclear)


def _same(wanted: str, said: str, *, prose: bool) -> bool | None:  # noqa: PLR0911 - one line a kind of answer
    if max(len(wanted), len(said)) > _LONGEST:
        return True if wanted == said else None
    if _joined(wanted) == _joined(said) != "":
        return True
    if _is_same_text(wanted, said):
        return True
    time, other = time_of(wanted), time_of(said)
    if time is not None and other is not None and (time[3] or other[3]):
        return same_time(time, other)
    words = words_of(wanted)
    if words is not None:
        return same_words(words, words_said(said)) if _SIGN_FIRST.match(plain(said)) is None else None
    if _LETTERS.fullmatch(plain(wanted)) and plain(wanted) == plain(said):
        return True
    if time is not None and time[3]:
        return False if _readings(said) else None
    if not plain(said):
        return False
    if prose and _is_sentence(said):
        return None
    return _same_trees(_readings(wanted), _readings(said))


def _joined(text: str) -> str:
    """A text without its spaces, except between digits, where a space may separate two numbers."""
    return "".join(re.sub(r"(?<=\d)\s+(?=\d)", "_", _LONE_SCRIPT.sub(r"\1\2 ", cleaned(text))).split())


def _is_same_text(wanted: str, said: str) -> bool:
    r"""Whether both are the same text (``June 20``) or the same letters, which one of them sets as text (``CCl_4``)."""
    if _WORDED.search(plain(wanted)) and plain(wanted).casefold() == plain(said).casefold():
        return True
    one, other = ("".join(plain(text).split()) for text in (wanted, said))
    return one == other and _FORMULA.fullmatch(one) is not None and _SET_AS_TEXT.search(wanted + said) is not None


def _is_sentence(text: str) -> bool:
    """Whether it begins with a word and goes on: then not all of it is the answer."""
    found = _FIRST_WORD.match(text)
    return found is not None and found[1].lower() not in PLAIN_NAMES


def _same_trees(wanted: tuple[_Reading, ...], said: tuple[_Reading, ...]) -> bool | None:
    """True if one reading of the answer is the expected one; None if that depends on how slashes are read."""
    one_way = {one.greedy for one in wanted} == {one.greedy for one in said}
    by_slashes: dict[tuple[bool, bool], list[bool | None]] = defaultdict(list)
    for one in wanted:
        for other in said:
            if one.greedy == other.greedy or not one_way:
                met = same(one.tree, other.tree) if _belong(one, other) else False
                by_slashes[one.greedy, other.greedy].append(met)
    verdicts = {any_met(met) for met in by_slashes.values()}
    return verdicts.pop() if len(verdicts) == 1 else None


def _belong(one: _Reading, other: _Reading) -> bool:
    """Whether two readings go together: a unit's letter must be a variable in both or in neither."""
    return not (one.lettered or other.lettered) or variables(one.tree) == variables(other.tree)


@lru_cache(maxsize=2048)
def _readings(text: str) -> tuple[_Reading, ...]:
    """The ways to read an expression; none if it cannot be read."""
    clean = cleaned(text)
    choices = [Choices()]
    for flag, may_be in (
        ("thousands", has_thousands(clean) and (not re.search(r"[(\[{]", clean) or re.search(r",\s", clean))),
        ("scientific", has_scientific(clean)),
        ("units", _UNITS_LIKELY.search(clean)),
        ("single_letters", _SINGLE_LETTER.search(clean)),
        ("greedy_slash", _SLASHED.search(clean)),
    ):
        choices += [replace(one, **{flag: True}) for one in choices] if may_be else []
    found: dict[_Reading, None] = {}
    for choice in choices:
        with suppress(UnreadableError):
            found[_Reading(parsed(clean, choice), choice.greedy_slash, choice.single_letters)] = None
    return tuple(found)
