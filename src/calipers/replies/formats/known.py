"""Loads the output formats of published judges, by name, from the table in ``formats.toml``.

A row says where in a reply the value is and what it can be. ``values`` finds the values; the readers decide whether a
verdict can be trusted.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pkgutil import get_data
from typing import Any, Final, Literal, TypeAlias

from calipers.errors import ConfigError

Reads: TypeAlias = Literal["choice", "scores", "verdict", "ranking"]
Numbers: TypeAlias = Literal["one", "each", "any", "listed", "named"]

_END = r"(?=[\s*_\"'`)\]}]{0,4}(?:\Z|\n|[.;!](?!\d)|</|<\||[ \t]{1,2}(?:(?-i:[A-Z][a-z])|[-–—(])))"
_OPEN, _CLOSE = r"[\s*_\"'`(\[]{0,6}", r"[\s*_\"'`)\]]{0,6}"
_SCORE = r"(?:(?:final|overall|total)\s)?(?:score|result|rating|verdict)s?"
_PLACES: Final = {
    "double brackets": (r"\[\[\s{0,2}VALUE\s{0,2}\]\]",),
    "single brackets": (r"(?<!\[)\[\s{0,2}VALUE\s{0,2}\](?!\])",),
    "boxed": (r"\\{1,2}boxed\s?\{\s?(?:\\{1,2}text\s?\{)?VALUE\s?\}",),
    "whole reply": (rf"\A{_OPEN}VALUE{_CLOSE}[.!]?\s*\Z",),
    "first line": (rf"\A[#>]{{0,3}}{_OPEN}VALUE[ \t*_\"'`)\].]{{0,6}}(?:\n|\Z)",),
    "last line": (rf"(?:\A|\n)[ \t#>]{{0,4}}{_OPEN}VALUE{_CLOSE}[.!]?\s*\Z",),
    "result tag": (
        (
            rf"\[(?:RESULT|SCORE)\s?\][*_:\s]{{0,5}}(?:{_SCORE}(?:\s(?:of|is))?[\s:]{{0,3}})?(?:(?:the\s)?RESPONSE\s)?"
            rf"{_OPEN}VALUE(?:{_END}|(?=[^\n]*\[(?:RESULT|SCORE)))"
        ),
        r"\[(?:RESULT|SCORE)[:\s]{1,3}(?:RESPONSE\s)?VALUE\s?\]",
    ),
    "last score": (
        rf"(?<![A-Za-z0-9]){_SCORE}(?:\s?(?:is|was)\s?:?|\s?[:=])[*_]{{0,3}}\s{{0,4}}{_OPEN}VALUE{_CLOSE}[.!]?\s*\Z",
        r"[(\[]\s?score:?\s?VALUE\s?[)\]][.!]?\s*\Z",
    ),
}
_VERDICTS: Final[Mapping[str, bool | None]] = {"met": True, "unmet": False, "neither": None}


@dataclass(frozen=True, slots=True)
class Format:
    """One judge's output format: a row of ``formats.toml``, which explains the fields.

    ``places`` are regexes, ``verdict`` maps words to met or not met.
    """

    name: str
    judges: str
    example: str
    places: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    names: tuple[tuple[str, ...], ...] = ()
    tie: tuple[str, ...] = ()
    graded: bool = False
    numbers: Numbers | None = None
    scale: tuple[float, float] | None = None
    verdict: Mapping[str, bool | None] = field(default_factory=dict)
    order: bool = False
    ends: bool = False
    aliases: tuple[str, ...] = ()

    @property
    def reads(self) -> tuple[Reads, ...]:
        """The kinds of value that can be read from a reply in this format."""
        readable: dict[Reads, bool] = {
            "choice": bool(self.names) or self.numbers in ("each", "any", "listed"),
            "scores": self.numbers is not None,
            "verdict": bool(self.verdict),
            "ranking": self.order,
        }
        return tuple(kind for kind, is_read in readable.items() if is_read)


@cache
def known_formats() -> Mapping[str, Format]:
    """Return every reply format from which verdicts can be extracted, by its name."""
    table = tomllib.loads((get_data(__package__, "formats.toml") or b"").decode())
    return {name: _format(name, row) for name, row in table.items()}


def format_named(name: str, reads: Reads | None = None) -> Format:
    """Return the reply format to extract from that is called ``name`` (case and punctuation are ignored).

    Raises ConfigError for an unknown name, and for a format from which ``reads`` cannot be read.
    """
    by_any_name = {_bare(known): form for form in known_formats().values() for known in (form.name, *form.aliases)}
    named_form = by_any_name.get(_bare(str(name)))
    if named_form is None:
        near = difflib.get_close_matches(_bare(str(name)), list(by_any_name), n=1)
        hint = f"; did you mean {by_any_name[near[0]].name!r}? Known: " if near else "; known: "
        raise ConfigError(f"unknown format {str(name)[:60]!r}{hint}{', '.join(sorted(known_formats()))}")
    if reads is not None and reads not in named_form.reads:
        readers = " or ".join(f"extract_{read}" for read in named_form.reads)
        raise ConfigError(f"format {named_form.name!r} holds no {reads.removesuffix('s')}; read it with {readers}")
    return named_form


def _format(name: str, row: dict[str, Any]) -> Format:
    verdict = {word: met for key, met in _VERDICTS.items() for word in row.pop(key, ())}
    places = tuple(regex for place in row.pop("places", ()) for regex in _regexes(place))
    return Format(name, places=places, verdict=verdict, **{key: _frozen(value) for key, value in row.items()})


def _regexes(place: str) -> Iterator[str]:
    """Yield the regexes for a place named in the table, in the order in which they are tried."""
    kind, _, words = place.partition(" ")
    if place in _PLACES:
        yield from _PLACES[place]
    elif kind == "after":
        words = words.replace("SCORE", _SCORE)
        yield (
            rf"(?<![A-Za-z0-9])(?:{words})[*_\"'`]{{0,3}}\s{{0,2}}(?:(?:is|was)\s?:?|[:：=])[*_]{{0,3}}\s{{0,4}}{_OPEN}VALUE{_END}"
        )
    elif kind == "tag":
        yield rf"<(?:{words})>{_OPEN}VALUE{_CLOSE}</"
    else:
        yield place.replace("OPEN", _OPEN).replace("END", _END)


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


def _bare(name: str) -> str:
    return re.sub(r"[\W_]", "", name).lower()
