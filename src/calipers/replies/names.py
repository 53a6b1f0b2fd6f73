"""Matches the names of candidates in a judge's reply to the ids asked about: ``1``, ``"Trajectory 1"``, ``"#1"``."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

NOUN: Final = (
    r"(?:trajectory|candidate|attempt|response|answer|output|option|assistant|model|passage|solution|rollout|sample"
    r"|agent|document|choice|criterion|rubric|question|item|no|id)"
)
"""Nouns that may stand before an id; the prompts of judges use them."""
_NOUN_BEFORE: Final = re.compile(rf"{NOUN}(?:[\s#:.(\"'=-]{{1,4}}|(?=\d))")
_STRIPPED: Final = " \t\r\n*_`\"'()[]{}<>#.:,/"


def fold_name(name: object) -> str:
    """Return a name in the form in which names are compared: no markup around it, lower case, single spaces."""
    return re.sub(r"[\s_-]+", " ", str(name)[:200].strip(_STRIPPED)).casefold().strip()


def bare_name(folded: str) -> str:
    """Return a folded name without a noun before it and without zeros before a number."""
    bare = folded
    for _ in range(2):  # trajectory id="1"
        noun = _NOUN_BEFORE.match(bare)
        bare = bare[noun.end() :].strip(_STRIPPED) if noun else bare
    return bare.lstrip("0") or "0" if bare.isascii() and bare.isdecimal() else bare


class Names:
    """The ids asked about. ``known`` maps each id to itself."""

    __slots__ = ("_bare", "_folded", "ids", "known")

    def __init__(self, ids: Sequence[str]) -> None:
        self.ids = tuple(dict.fromkeys(ids))
        self.known = {id_: id_ for id_ in self.ids}
        self._folded = _unique({id_: fold_name(id_) for id_ in self.ids})
        self._bare = _unique({id_: bare_name(fold_name(id_)) for id_ in self.ids})

    def match(self, name: object) -> str | None:
        """Return the id that a key or a text names, or None."""
        if isinstance(name, bool) or not isinstance(name, str | int | float):
            return None
        if isinstance(name, float):
            name = int(name) if name.is_integer() else name
        text = str(name)
        if text in self.known:
            return text
        folded = fold_name(text)
        return self._folded.get(folded) or self._bare.get(bare_name(folded)) if folded else None


def _unique(forms: dict[str, str]) -> dict[str, str]:
    """Return the ids by form, without forms that several ids have."""
    counts = Counter(forms.values())
    return {form: id_ for id_, form in forms.items() if counts[form] == 1}


WORDS_AROUND: Final = "words around the verdict"
"""The reason for a reply whose values count if the judge gives them again."""
CONTRADICTED: Final = "a verdict that its explanation contradicts"
TWO_VERDICTS: Final = "two verdicts that differ"
OTHER_KEYS: Final = "keys beside the verdict that were not asked for"
ERROR_BESIDE: Final = "an error beside the verdict"
_EVALUATE: Final = r"(?:evaluate|rate|score|grade|judge|assess)(?:e?d)?"
REFUSES: Final = re.compile(
    r"\s*(?:as an? [^,.]{0,40}, )?(?:(?:i'm |i am )?sorry|i (?:cannot|can['’]t|won['’]t|am unable|am not able"
    rf"|(?:must )?decline)|(?:unable to|cannot(?: be)?|not) {_EVALUATE})\b|\W*(?:refused|n/a|null|redacted)\W*\Z",
    re.IGNORECASE,
)
"""A judge's refusal, in place of an explanation: the lowest value beside it is none."""
REFUSED: Final = re.compile(
    rf"(?:[^.!]{{0,60}}, )?(?:but |so )?(?:i |i['’]m |i am )?(?:cannot|can['’]t|won['’]t|unable to|not able to"
    rf"|decline to)(?: be)? {_EVALUATE}(?: (?:this|that|the|it))?(?: {NOUN})?[.!]?",
    re.IGNORECASE,
)
"""An explanation that is a refusal and nothing else: no value beside it is one."""
UNENDED: Final = "the reasoning never ends"


class Rejected(Exception):  # noqa: N818 - not an error: the readers catch it, and callers never see it
    """Raised with the reason why nothing of a judge's reply is read.

    ``doubt``: the reply contradicts itself, or its verdict may be on another scale. ``truncated``: the reply ends too
    early.
    """

    def __init__(self, reason: str, *, doubt: bool = False, truncated: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.doubt = doubt
        self.truncated = truncated
