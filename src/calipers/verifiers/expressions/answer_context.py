"""Words around an answer in prose: what denies it, what takes it back, what makes it part of another quantity.

The words are data (``words.toml``). They can only make an answer less certain. Not responsible for where the answer
stands (``answer_location``).
"""

from __future__ import annotations

import re
from typing import Final

from calipers.extract.caveats.denials import retracted
from calipers.types.packaged import packaged
from calipers.verifiers.expressions.units import unit_of

_CLAUSE: Final = re.compile(r"[.!?。！？;；:：\n,，()]")
_NEAR: Final = 80
_MARKUP: Final = re.compile(r"\A(?:\*\*|\$+|\\[)\]]|`)")
_UNIT: Final = re.compile(r"\s*((?:(?:square|cubic|sq\.?)\s+)?[^\W\d_]+(?:\s*(?:/|per\b)\s*[A-Za-z]+)?(?:\^[23])?)")
_AMBIGUOUS: Final = frozenset({"in", "s", "a", "second", "deg", "h", "ton", "mi", "m", "l", "g"})


def entries(name: str) -> tuple[list[str], list[str]]:
    """A list of ``words.toml``: its words, and those of languages without spaces."""
    table = packaged("calipers.verifiers.expressions", "words.toml")[name]
    words = [entry.strip() for language, row in table.items() if language != "unspaced" for entry in row.split(";")]
    return words, [entry.strip() for entry in table["unspaced"].split(";")] if "unspaced" in table else []


def _any_of(name: str) -> str:
    spaced, unspaced = entries(name)
    words = sorted(set(spaced), key=len, reverse=True)
    return rf"(?<![^\W_])(?:{'|'.join(map(re.escape, words))})(?![\w-])|{'|'.join(unspaced)}"


_DENYING: Final = re.compile(_any_of("denials"), re.IGNORECASE)
_OTHERS_OR_DENYING: Final = re.compile(f"{_DENYING.pattern}|{_any_of('others')}", re.IGNORECASE)
_DENYING_LAST: Final = re.compile(
    rf"(?:{_DENYING.pattern})(?:\s*(?:be|is|are|equals?|equal to|ser|es|est|être|sein|é|è|ist|是|为))?[\s$*\\(\[]*\Z",
    re.IGNORECASE,
)
_AFTER: Final = re.compile(rf"[\s$*\\)\]]{{0,6}}(?:{'|'.join(entries('denied_after')[0])})")
_ON: Final = re.compile(
    r"[A-Za-z](?![A-Za-z])|[A-Za-z]+[\d^({]|\(|!!|\s*(?:[:/^_*×·+–-]\s*[\w({\\-]|\\?%|for\s+(?:\$|\\\()"
    rf"|\\(?!text|mathrm|mbox|quad|[^a-zA-Z])|{_any_of('going_on')})",
    re.IGNORECASE,
)


def is_denied(before: str) -> bool:
    """Whether a denial stands right before an answer: ``not``, ``it can't be``."""
    return bool(_DENYING_LAST.search(_plain(before[-_NEAR:])))


def is_anothers(before: str) -> bool:
    """Whether the words before ``answer`` make it one that does not hold: ``If the``, ``The wrong``, ``It is not``."""
    return bool(_OTHERS_OR_DENYING.search(_plain(_CLAUSE.split(before[-_NEAR:])[-1])))


def taken_back(after: str) -> bool:
    """Whether the text right behind an answer denies it or takes it back: ``? No``, ``. This is false``."""
    return bool(_AFTER.match(after)) or retracted(after[:400].lstrip("$*)]\\ "))


def goes_on(after: str) -> bool:
    """Whether the text right behind a number makes it part of more: ``times``, ``or 6``, ``万``."""
    return bool(_ON.match(_MARKUP.sub("", after[:_NEAR])))


def unit_behind(after: str) -> str:
    r"""A known unit right behind a number, as LaTeX; empty if there is none, or if it may be a word (``in``)."""
    found = _UNIT.match(_MARKUP.sub("", after[:_NEAR]))
    if found is None or (found[1] in _AMBIGUOUS and re.match(r"\s+\w", found.string[found.end() :])):
        return ""
    unit = unit_of(found[1])
    return rf"\text{{ {found[1]}}}" if unit.parts and unit.known else ""


def _plain(text: str) -> str:
    """Without apostrophes, so that ``isn't`` is one word."""
    return re.sub(r"(?<=\w)['’](?=\w)", "", text).replace("cant ", "cannot ")
