"""The words around an answer in prose: words that deny the answer, retract it or make it part of another quantity.

The words are data (``words.toml``). They can only make an answer less certain. ``answer_location`` finds the answer.
"""

from __future__ import annotations

import re
from typing import Final

from calipers.types.packaged import read_packaged_toml
from calipers.verifiers.expressions.units import parse_unit

_CLAUSE: Final = re.compile(r"[.!?。！？;；:：\n,，()]")
_NEAR: Final = 80
_MARKUP: Final = re.compile(r"\A(?:\*\*|\$+|\\[)\]]|`)")
_UNIT: Final = re.compile(r"\s*((?:(?:square|cubic|sq\.?)\s+)?[^\W\d_]+(?:\s*(?:/|per\b)\s*[A-Za-z]+)?(?:\^[23])?)")
_AMBIGUOUS: Final = frozenset({"in", "s", "a", "second", "deg", "h", "ton", "mi", "m", "l", "g"})


def context_words(name: str) -> tuple[list[str], list[str]]:
    """Return a list from the verifier's ``words.toml`` in two parts.

    They are words of languages with spaces, and of languages without spaces.
    """
    table = read_packaged_toml("calipers.verifiers.expressions", "words.toml")[name]
    words = [entry.strip() for language, row in table.items() if language != "unspaced" for entry in row.split(";")]
    return words, [entry.strip() for entry in table["unspaced"].split(";")] if "unspaced" in table else []


def _any_of(name: str) -> str:
    spaced, unspaced = context_words(name)
    words = sorted(set(spaced), key=len, reverse=True)
    return rf"(?<![^\W_])(?:{'|'.join(map(re.escape, words))})(?![\w-])|{'|'.join(unspaced)}"


_DENYING: Final = re.compile(_any_of("denials"), re.IGNORECASE)
_OTHERS_OR_DENYING: Final = re.compile(f"{_DENYING.pattern}|{_any_of('others')}", re.IGNORECASE)
_DENYING_LAST: Final = re.compile(
    rf"(?:{_DENYING.pattern})(?:\s*(?:be|is|are|equals?|equal to|ser|es|est|être|sein|é|è|ist|是|为))?[\s$*\\(\[]*\Z",
    re.IGNORECASE,
)
_AFTER: Final = re.compile(rf"[\s$*\\)\]]{{0,6}}(?:{'|'.join(context_words('denied_after')[0])})")
_ON: Final = re.compile(
    r"[A-Za-z](?![A-Za-z])|[A-Za-z]+[\d^({]|\(|!!|\s*(?:[:/^_*×·+–-]\s*[\w({\\-]|\\?%|for\s+(?:\$|\\\()"
    rf"|\\(?!text|mathrm|mbox|quad|[^a-zA-Z])|{_any_of('going_on')})",
    re.IGNORECASE,
)


def is_denied(before: str) -> bool:
    """Whether the text right before an answer to verify denies it: ``not``, ``it can't be``."""
    return bool(_DENYING_LAST.search(_plain(before[-_NEAR:])))


def is_wrong_or_hypothetical(before: str) -> bool:
    """Whether the text before ``the answer is`` says that the answer is wrong or hypothetical, as "if" does."""
    return bool(_OTHERS_OR_DENYING.search(_plain(_CLAUSE.split(before[-_NEAR:])[-1])))


def is_retracted(after: str) -> bool:
    """Whether the text right after an answer to verify denies or retracts it: ``? No``, ``. This is false``."""
    return bool(_AFTER.match(after))


def is_continued(after: str) -> bool:
    """Whether text after the number of an answer to verify continues the expression: ``times``, ``or 6``, ``万``."""
    return bool(_ON.match(_MARKUP.sub("", after[:_NEAR])))


def unit_after(after: str) -> str:
    """Return the unit right after a number in an answer to verify, as LaTeX.

    The text is empty if there is no unit or it may be a word (``in``).
    """
    found = _UNIT.match(_MARKUP.sub("", after[:_NEAR]))
    if found is None or (found[1] in _AMBIGUOUS and re.match(r"\s+\w", found.string[found.end() :])):
        return ""
    unit = parse_unit(found[1])
    return rf"\text{{ {found[1]}}}" if unit.parts and unit.known else ""


def _plain(text: str) -> str:
    """Remove apostrophes, so that ``isn't`` is a single word."""
    return re.sub(r"(?<=\w)['’](?=\w)", "", text).replace("cant ", "cannot ")
