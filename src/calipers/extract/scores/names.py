"""Which candidate a judge means: ``1``, ``"Trajectory 1"``, ``#1``, ``<trajectory id="1">`` to the id ``"1"``.

Equality only, never likeness: a name that fits no id exactly after its decoration is taken off is unknown. Case and
width are ignored, unless ids differ in nothing else: those are told apart by them, or not at all.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Any

PREFIX = (
    r"(?:trajector(?:y|ie)|trayectoria|trajectoire|trajektorie|траектория|traj|candidate?|kandidat|candidato|rollout|sample"
    r"|completion|solution|response|answer|option|output|agent|assistant|model|item|run|attempt|entry|key|id"
    r"|轨迹|軌跡|軌道|候选|候選|回答|响应|选项|方案|答案|궤적|후보)"
)
_PREFIXED = re.compile(
    rf"(?:the\s)?{PREFIX}(?:[\s_\-]{{0,3}}(?:id|no\.?|number|nr\.?|num))?(?P<gap>[\s_\-#:.=№\"'(\[]{{0,6}})(?P<rest>.{{1,200}})",
    re.IGNORECASE | re.DOTALL,
)
_TAG = re.compile(
    r"<\s?[\w:.-]{1,40}\s[^<>]{0,60}?\b(?:id|key|name|label)\s?=\s?[\"']?([^\"'<>]{1,100}?)[\"']?\s?/?>", re.IGNORECASE
)
_LABELLED = re.compile(r"([^()（）]{1,60}?)\s{1,3}[(（][^()（）]{0,80}[)）]")
_ORDINAL = re.compile(r"第?(\d{1,6})(?:号|條|条|个|個|번|番)")
_DECORATION = " \t\r\n\u00a0*_`\"'“”‘’„«»<>[](){}#№.:,;|"
_WORDS = {
    word: str(number)
    for number, word in enumerate(
        ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
    )
}


class Names:
    """The ids of one question, and how replies may write them."""

    __slots__ = ("_core", "_exact", "_folded", "ids", "known")

    def __init__(self, ids: Sequence[str]) -> None:
        self.ids = tuple(ids)
        self.known = frozenset(self.ids)
        self._folded: dict[str, str] | None = None
        self._core: dict[str, str] = {}
        self._exact: dict[str, str] = {}

    def match(self, raw: Any) -> str | None:
        """The id ``raw`` (a key, an id field's value) names, or None."""
        if type(raw) is str:
            if raw in self.known:
                return raw
            text = raw
        elif type(raw) is int:
            text = _digits(raw)
        elif type(raw) is float and raw.is_integer():
            text = _digits(int(raw))
        else:
            return None
        if text in self.known:
            return text
        return self._loosely(text) if 0 < len(text) <= 300 else None

    @property
    def wide(self) -> str:
        """Characters of the ids that must not be made plain, because other ids are the same in plain characters."""
        odd = [id_ for id_ in self.ids if not id_.isascii()]
        if not odd or len({_fold(id_) for id_ in self.ids}) == len(self.ids):
            return ""
        return "".join({char for id_ in odd for char in id_ if not char.isascii()})

    def _loosely(self, text: str) -> str | None:
        if self._folded is None:
            self._folded = _unambiguous((_fold(id_), id_) for id_ in self.ids)
            self._core = _unambiguous((core(id_), id_) for id_ in self.ids)
            if len(self._core) < len(self.ids):
                self._exact = _unambiguous((core(id_, fold=False), id_) for id_ in self.ids)
        if self._exact and (exact := self._exact.get(core(text, fold=False))):
            return exact
        found = self._folded.get(_fold(text))
        if found is None and core(text):
            found = self._core.get(core(text))
        return found


def core(text: str, *, fold: bool = True) -> str:
    """``text`` without decoration and the word it is introduced by; without case and width, too, if ``fold``."""
    tag = _TAG.search(text)
    if tag:
        text = tag[1]
    text = _fold(text) if fold else text
    for _ in range(2):
        labelled = _LABELLED.fullmatch(text.strip("*_` "))
        text = (labelled[1] if labelled else text).strip(_DECORATION)
        found = _PREFIXED.fullmatch(text)
        if found is None:
            break
        rest = found["rest"].strip(_DECORATION)
        if not found["gap"] and not (rest.isnumeric() or len(rest) == 1):
            break
        text = _WORDS.get(rest.casefold(), rest)
    text = text.strip(_DECORATION)
    ordinal = _ORDINAL.fullmatch(text)
    if ordinal:
        text = ordinal[1]
    if fold and text.isdecimal() and text.isascii():
        text = text.lstrip("0") or "0"
    return text


def _fold(text: str) -> str:
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    return text.strip().casefold()


def _digits(number: int) -> str:
    return str(number) if abs(number) < 10**20 else ""


def _unambiguous(pairs: Any) -> dict[str, str]:
    """A mapping without the keys that two ids share."""
    found: dict[str, str] = {}
    shared = set()
    for key, id_ in pairs:
        if not key or found.setdefault(key, id_) != id_:
            shared.add(key)
    return {key: id_ for key, id_ in found.items() if key not in shared}
