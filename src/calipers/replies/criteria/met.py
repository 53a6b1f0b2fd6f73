"""Reads one value of a reply as the verdict on a criterion: met, not met, the share of a level, or a problem.

Only exact words count. They are lists in ``words/verdicts.txt``. ``checklist`` finds the values in a reply.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from calipers.replies.caveats.retractions import takes_score_back
from calipers.replies.strictjson import CUT
from calipers.replies.wordlists import list_words

Met: TypeAlias = bool | float
"""The verdict on one criterion: met, not met, or the share of a level (0-1)."""


@dataclass(frozen=True, slots=True)
class Row:
    """The verdict on one criterion in one document: its value, or the ``problem`` with it."""

    value: Met | None
    problem: str | None = None
    undecided: bool = False
    reason: str | None = None
    quote: str | None = None


_MEANINGS: Final[Mapping[str, bool | None]] = {
    word: met
    for name, met in (("MET", True), ("NOT_MET", False), ("UNDECIDED", None))
    for word in list_words("verdicts", name)
}
_LEAD = re.compile(r"(?P<word>[^.,;:!()\n–—-]{1,30}?)\s{0,3}(?:[.,;:!(\n–—]|\s-{1,2}\s)(?P<rest>.*)", re.DOTALL)
_BUT = re.compile(r"\s*(?:but|however|although|though|except|mostly|partly|partially|in part|not\b)", re.IGNORECASE)


def read_met(value: object, levels: Mapping[str, float]) -> Row:
    """Extract the verdict on a criterion from a scalar of a judge's reply."""
    if value is CUT:
        return Row(None, "the reply ends before it")
    if value is None:
        return Row(None, "the judge could not tell", undecided=True)
    if isinstance(value, bool) and levels:
        return Row(None, "true or false where a level was asked for")
    if levels:
        share = _share(str(value)[:400], levels)
        return Row(None, "none of the levels asked for") if share is None else Row(float(share))
    if isinstance(value, int | float):
        return Row(value == 1) if value in (0, 1) else Row(None, f"{value:.6g} is neither met nor not met")
    return _of_word(_folded(str(value)[:400]))


def _share(text: str, levels: Mapping[str, float]) -> float | None:
    """Return the share of the level that ``text`` names. The case must match if two levels differ only in case."""
    if text in levels:
        return levels[text]
    found = {share for name, share in levels.items() if _folded(name) == _folded(text)}
    return found.pop() if len(found) == 1 else None


def _of_word(text: str) -> Row:
    lead = _LEAD.fullmatch(text) if text not in _MEANINGS else None
    if lead is not None and not _BUT.match(lead["rest"]) and not takes_score_back(lead["rest"]):
        text = lead["word"].strip()
    if text not in _MEANINGS:
        return Row(None, "its value is neither met nor not met")
    met = _MEANINGS[text]
    return Row(met) if met is not None else Row(None, "the judge could not tell", undecided=True)


def _folded(text: str) -> str:
    bare = text.strip(" \r\n\t*`\"'.[]{}").casefold()
    return re.sub(r"(?<=\w)-(?=\w)|[\s_]+", " ", bare).strip()
