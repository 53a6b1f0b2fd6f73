r"""Normalise mathematical notation: ``\dfrac`` becomes ``\frac``, ``10{,}080`` becomes ``10080``.

The names and characters are data (``latex.toml``). Nothing that carries meaning is removed. Unknown notation is not
changed, and ``tokens`` or ``parsing`` refuses it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from typing import Any, Final

from calipers.types.packaged import read_packaged_toml

TABLES: Final[Mapping[str, Any]] = read_packaged_toml("calipers.verifiers.expressions", "latex.toml")
_CHARACTERS: Final[Mapping[str, str]] = TABLES["characters"]
_SYNONYMS: Final = {name: one for one, names_in_table in TABLES["synonyms"].items() for name in names_in_table.split()}
_SILENT: Final = frozenset(TABLES["silent"].split())
_RAISED: Final = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿ", "0123456789+-n")
_LOWERED: Final = str.maketrans("₀₁₂₃₄₅₆₇₈₉", "0123456789")
_BRACKETS: Final = frozenset("{}[]|:")
_COMMAND: Final = re.compile(r"\\([a-zA-Z]+)\*?")
_SPACES: Final = re.compile(
    r"(?<!\\)\\[!,;:> ]|~|\\hspace\*?\{[^{}]*\}|(?<!\\)\\(?=\s)|(?<=\\\\)\[-?[\d.]+ *[a-z]{2}\]"
)
_THOUSANDS: Final = re.compile(r"(?<=\d)(?:\{,\}\s*|,\s*\\!\s*|\\,|\\ |~|\\;|\\:)(?=\d{3}(?!\d))")
_DECIMAL_COMMA: Final = re.compile(r"(?<=\d)\{,\}(?=\d)")
_DOUBLED: Final = re.compile(r"\\\\(?=[a-zA-Z(\[{])")
_MOST_BRACES: Final = 5
_BRACES: Final = re.compile(r"(?<!\\)[{}]")
_BEGINNING: Final = re.compile(r"^\s*(?:\\approx|\\sim|\\therefore)\s")
_PHANTOM: Final = re.compile(r"\\[hv]?phantom\s*(?:\{[^{}]*\}|[^\s\\{])")
_ORDINAL: Final = re.compile(
    r"(?<=\d)\s*\^?\s*\{?\s*(?:\\(?:text|mathrm|textrm|mbox)\s*\{\s*)?(?:st|nd|rd|th)\s*(?:\}\s*){0,2}(?![A-Za-z])"
)
_EDGES: Final = " \t\n\r.,;:。；"


def names_in_table(table: str) -> frozenset[str]:
    """Return the names of mathematical notation in a table of ``latex.toml``, for answers to verify."""
    return frozenset(TABLES[table].split())


def normalised_latex(text: str) -> str:
    """Normalise the notation of a mathematical answer to verify.

    Delimiters, sizes, spaces and final punctuation are removed.
    """
    has_environment = r"\begin" in text
    if not has_environment and r"\\" in text:
        text = _DOUBLED.sub(lambda _: "\\", text)  # JSON escaping doubled the backslash
    text = _in_ascii(text)
    for delimiter in (r"\(", r"\)") if has_environment else (r"\(", r"\)", r"\[", r"\]"):
        text = text.replace(delimiter, " ")
    text = re.sub(r"(?<!\\)\$", " ", text)
    text = _DECIMAL_COMMA.sub(".", _THOUSANDS.sub("", text))
    text = _COMMAND.sub(_respelled, _SPACES.sub(" ", _PHANTOM.sub(" ", text))).strip()
    if text.startswith("**"):
        text = re.sub(r"\*\*(.+?)\*\*", r"\1", text)
    text = _without_ordinal(text.strip())
    for _ in range(_MOST_BRACES):
        text = _BEGINNING.sub("", text.rstrip(_EDGES).lstrip("=:, \t\n"))
        if not text.startswith("{") or _closing_brace(text) != len(text) - 1:
            break
        text = text[1:-1]
    return text


def _without_ordinal(text: str) -> str:
    r"""Remove the ending of an ordinal number (``13^{\text{th}}`` becomes ``13``) unless that breaks braces."""
    bare = _ORDINAL.sub("", text)
    return bare if bare.count("{") == bare.count("}") else text


def _closing_brace(text: str) -> int:
    """Return the position of the brace that closes the first brace, or -1."""
    depth = 0
    for found in _BRACES.finditer(text):
        depth += 1 if found[0] == "{" else -1
        if not depth:
            return found.start()
    return -1


def _respelled(match: re.Match[str]) -> str:
    name = _SYNONYMS.get(match[1], match[1])
    if name in _SILENT:
        return " "
    if name in _BRACKETS:
        return f"\\{name}" if name in "{}" else name
    return f"\\{name} " if name != "operatorname" else r"\operatorname"


def _in_ascii(text: str) -> str:
    """Replace mathematical Unicode characters by LaTeX."""
    if text.isascii():
        return text
    text = re.sub(r"[⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿ]+", lambda found: f"^{{{found[0].translate(_RAISED)}}}", text)
    text = re.sub(r"[₀₁₂₃₄₅₆₇₈₉]+", lambda found: f"_{{{found[0].translate(_LOWERED)}}}", text)
    return "".join(
        _CHARACTERS.get(character) or (character if character.isascii() else unicodedata.normalize("NFKC", character))
        for character in text
    )
