"""IFEvalG's rules on copying: the request, a span of it, or a phrase that changes a little each time."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from calipers.errors import InputError
from calipers.types import Verdict
from calipers.verifiers.ifeval.rule import Mode, Rule, compile_field, count_verdict, verdict_if

_DIVIDER = "******"


def _copy(_: Mode, response: str, *, prompt_to_repeat: str) -> Verdict:
    """Require the request and nothing else, ignoring case and blanks around it."""
    return verdict_if(met=_same(response, prompt_to_repeat), otherwise="is not a copy of the request")


def _copying_multiple(_: Mode, response: str, *, prompt_to_repeat: str, N: int) -> Verdict:  # noqa: N803 - its field
    """Require the request ``N`` times with six stars in between, and nothing else."""
    _require_one("N", N)
    pieces = response.split(_DIVIDER)
    if len(pieces) != N:
        return count_verdict(len(pieces), "copies", "exactly", N)
    met = all(_same(piece, prompt_to_repeat) for piece in pieces)
    return verdict_if(met=met, otherwise="a piece is not a copy of the request")


def _copy_span_idx(mode: Mode, response: str, *, prompt_to_repeat: str, n_start: int, n_end: int) -> Verdict:
    """Require the request's characters from ``n_start`` to before ``n_end``, ignoring case and blanks around them.

    The official checker draws a random number in place of an ``n_start`` of 0; the verdict is None then.
    """
    _require_one("n_end", n_end)
    if mode != "fixed" and not n_start:
        return Verdict(None, "the official checker draws the first index at random in place of 0")
    met = _same(response, prompt_to_repeat[n_start:n_end])
    return verdict_if(met=met, otherwise=f"is not a copy of characters {n_start} to {n_end} of the request")


def _repeat_phrase(mode: Mode, response: str, *, phrase: str, small_n: int) -> Verdict:
    """Require ``small_n`` texts from the phrase's first to its last word, each with one other word in between.

    In ``official`` the two words are regular expressions, in ``fixed`` they are literal.
    """
    _require_one("small_n", small_n)
    wanted = phrase.split()
    if not wanted:
        raise InputError("phrase: must not be blank")
    first, last = (word if mode != "fixed" else re.escape(word) for word in (wanted[0], wanted[-1]))
    found = list(_between(response, first, last))
    if len(found) != small_n:
        return count_verdict(len(found), "phrases", "exactly", small_n)
    for said in found:
        words = said.split()
        if len(words) != len(wanted) or sum(a != b for a, b in zip(words, wanted, strict=True)) != 1:
            return Verdict(False, f"differs from the phrase in more or less than one word: {said[:80]!r}")
    return Verdict(True)


def _between(response: str, first: str, last: str) -> Iterator[str]:
    """Yield the shortest texts of a line from ``first`` to ``last``, from left to right.

    What follows the last ``last`` of a line is not searched: each ``first`` in it would be looked at to the line's end.
    """
    pattern = compile_field("phrase", rf"{first} .*? {last}")
    end = compile_field("phrase", rf"(?s:.*) {last}")
    for line in response.split("\n"):
        if searched := end.match(line):
            yield from (found[0] for found in pattern.finditer(searched[0]))


def _same(response: str, wanted: str) -> bool:
    return response.strip().lower() == wanted.strip().lower()


def _require_one(field: str, number: int) -> None:
    if number < 1:  # the official checker draws a random number then
        raise InputError(f"{field}: must be 1 or more, is {number}")


RULES: Final[dict[str, Rule]] = {
    "copy:copy": _copy,
    "copy:copying_simple": _copy,
    "copy:copying_multiple": _copying_multiple,
    "copy:repeat_phrase": _repeat_phrase,
    "new:copy_span_idx": _copy_span_idx,
}
