"""Matches the names that a judge uses for candidates to their ids: ``1``, ``"Trajectory 1"``, ``#1`` to ``"1"``.

Only equal names match, never similar names. A name that equals no id after its decoration is removed is unknown. Case
and width are ignored, unless two ids differ only in case or width.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property, partial
from typing import Any

from calipers.replies.wordlists import list_words, regex_of_list

PREFIX = f"(?:{regex_of_list('names', 'BEFORE_ID')})"
_PREFIXED = re.compile(
    rf"(?:the\s)?{PREFIX}(?:[\s_\-]{{0,3}}(?:id|no\.?|number|nr\.?|num))?(?P<gap>[\s_\-#:.=№\"'(\[]{{0,6}})"
    r"(?P<rest>.{1,200})",
    re.IGNORECASE | re.DOTALL,
)
_TAG = re.compile(
    r"<\s?[\w:.-]{1,40}\s[^<>]{0,60}?\b(?:id|key|name|label)\s?=\s?[\"']?([^\"'<>]{1,100}?)[\"']?\s?/?>", re.IGNORECASE
)
_LABELLED = re.compile(r"([^()（）]{1,60}?)\s{1,3}[(（][^()（）]{0,80}[)）]")
_ORDINAL = re.compile(r"第?(\d{1,6})(?:号|條|条|个|個|번|番)")
_DECORATION = " \t\r\n\u00a0*_`\"'“”‘’„«»<>[](){}#№.:,;|"
_SPELLED = {word: str(number) for number, word in enumerate(list_words("spelled", "ONES")[:11])}


class Names:
    """The ids of the candidates to be scored, and the ways in which replies may write them."""

    def __init__(self, ids: Sequence[str]) -> None:
        self.ids = tuple(ids)
        self.known = frozenset(self.ids)

    def match(self, raw: Any) -> str | None:
        """Return the candidate's id that ``raw`` (an extracted key, or an id field's value) names, or None."""
        if type(raw) is float and raw.is_integer():
            raw = int(raw)
        text = raw if type(raw) is str else str(raw) if type(raw) is int and abs(raw) < 10**20 else ""
        if text in self.known:
            return text
        if not 0 < len(text) <= 300:
            return None
        return next((id_ for form, ids in self._forms if (id_ := ids.get(form(text))) is not None), None)

    @cached_property
    def _forms(self) -> list[tuple[Callable[[str], str], dict[str, str]]]:
        """The forms in which names are compared, best form first, each with a map from unambiguous names to ids."""
        forms: list[tuple[Callable[[str], str], dict[str, str]]]
        forms = [(form, _unambiguous((form(id_), id_) for id_ in self.ids)) for form in (_fold, bare_name)]
        if len(forms[1][1]) < len(self.ids):
            exact = partial(bare_name, fold=False)
            forms.insert(0, (exact, _unambiguous((exact(id_), id_) for id_ in self.ids)))
        return forms

    @property
    def wide(self) -> str:
        """Characters of the candidates' ids that must stay as they are, because plain punctuation would make two ids
        equal.
        """
        odd = {char for id_ in self.ids for char in id_ if not id_.isascii() and not char.isascii()}
        return "".join(odd) if odd and len(set(map(_fold, self.ids))) < len(self.ids) else ""


def bare_name(text: str, *, fold: bool = True) -> str:
    """Extract a candidate's name without decoration and words such as *Trajectory*.

    With ``fold``, case and width are removed too.
    """
    tag = _TAG.search(text)
    text = tag[1] if tag else text
    text = _fold(text) if fold else text
    for _ in range(2):
        labelled = _LABELLED.fullmatch(text.strip("*_` "))
        text = (labelled[1] if labelled else text).strip(_DECORATION)
        found = _PREFIXED.fullmatch(text)
        rest = found["rest"].strip(_DECORATION) if found else ""
        if not found or not (found["gap"] or rest.isnumeric() or len(rest) == 1):
            break
        text = _SPELLED.get(rest.casefold(), rest)
    text = text.strip(_DECORATION)
    ordinal = _ORDINAL.fullmatch(text)
    text = ordinal[1] if ordinal else text
    return (text.lstrip("0") or "0") if fold and text.isdecimal() and text.isascii() else text


def _fold(text: str) -> str:
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    return text.strip().casefold()


def _unambiguous(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return names and ids as a dict, without the names that belong to two ids."""
    found: dict[str, str] = {}
    shared = set()
    for key, id_ in pairs:
        if not key or found.setdefault(key, id_) != id_:
            shared.add(key)
    return {key: id_ for key, id_ in found.items() if key not in shared}
