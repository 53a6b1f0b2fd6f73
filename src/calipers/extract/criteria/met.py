"""One value of a reply as a verdict: met, not met, a level's share, or why it is none.

Exact words only. Not responsible for where in a reply the value stands (``checklist``).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from calipers.extract.caveats.takebacks import interrupted
from calipers.extract.strictjson import CUT

Said: TypeAlias = bool | float
"""Met, not met, or the share of a level."""


@dataclass(frozen=True, slots=True)
class Row:
    """One criterion in one document: its value, or ``problem``."""

    value: Said | None
    problem: str | None = None
    undecided: bool = False
    reason: str | None = None
    quote: str | None = None


_YES: Final = frozenset({
    "present", "met", "yes", "true", "pass", "passed", "passes", "satisfied", "fulfilled", "correct", "compliant", "1",
    "✓", "✔", "✅", "是", "满足", "符合",
})  # fmt: skip
_NO: Final = frozenset({
    "absent", "unmet", "no", "false", "fail", "failed", "fails", "unsatisfied", "unfulfilled", "incorrect", "violated",
    "not present", "not met", "not satisfied", "not fulfilled", "not passed", "not correct", "not compliant", "0",
    "✗", "✘", "❌", "×", "否", "不满足", "不符合",
})  # fmt: skip
_UNDECIDED: Final = frozenset({
    "n/a", "na", "not applicable", "unknown", "unclear", "undecided", "undetermined", "cannot tell", "can't tell",
    "unsure", "cannot determine", "cannot be determined", "insufficient evidence", "null", "none",
})  # fmt: skip
_LEAD = re.compile(r"(?P<word>[^.,;:!()\n–—-]{1,30}?)\s{0,3}(?:[.,;:!(\n–—]|\s-{1,2}\s)(?P<rest>.*)", re.DOTALL)
_BUT = re.compile(r"\s*(?:but|however|although|though|except|mostly|partly|partially|in part|not\b)", re.IGNORECASE)


def said(value: object, levels: Mapping[str, float]) -> Row:
    """A scalar as a verdict."""
    if value is CUT:
        return Row(None, "the reply ends before it")
    if value is None:
        return Row(None, "the judge could not tell", undecided=True)
    if isinstance(value, bool):
        return Row(value) if not levels else Row(None, "true or false where a level was asked for")
    if isinstance(value, int | float) and not levels:
        return Row(value == 1) if value in (0, 1) else Row(None, f"{value:.6g} is neither met nor not met")
    if levels:
        share = _share(str(value)[:400], levels)
        return Row(None, "none of the levels asked for") if share is None else Row(float(share))
    return _word(_folded(str(value)[:400]))


def _share(text: str, levels: Mapping[str, float]) -> float | None:
    """The share of the level that ``text`` names; to the letter where levels differ only in case or decoration."""
    if text in levels:
        return levels[text]
    word = _folded(text)
    found = {share for name, share in levels.items() if _folded(name) == word}
    return found.pop() if len(found) == 1 else None


def _word(text: str) -> Row:
    met = _exact(text)
    if met is None and text not in _UNDECIDED:
        lead = _LEAD.fullmatch(text)
        if lead is None or _BUT.match(lead["rest"]) or interrupted(lead["rest"]):
            return Row(None, "its value is neither met nor not met")
        text = lead["word"].strip()
        met = _exact(text)
    if met is not None:
        return Row(met)
    undecided = text in _UNDECIDED
    return Row(None, "the judge could not tell" if undecided else "its value is neither met nor not met", undecided)


def _exact(word: str) -> bool | None:
    return True if word in _YES else False if word in _NO else None


def _folded(text: str) -> str:
    bare = text.strip(" \r\n\t*`\"'.[]{}").casefold()
    return re.sub(r"(?<=\w)-(?=\w)|[\s_]+", " ", bare).strip()
