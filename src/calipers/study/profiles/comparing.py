"""Compares two profiles figure by figure: whether the second one finds the numbers of the first.

Not responsible for fitting either.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from calipers.study.profiles.figures import Figure
from calipers.study.profiles.profile import Profile

_DUST = 2e-3


@dataclass(frozen=True, slots=True)
class Comparison:
    """A figure ``name`` that two profiles measured, the ``first`` and the ``second``."""

    name: str
    first: Figure
    second: Figure

    @property
    def found(self) -> bool:
        """Whether the second profile's value is in the first one's interval, or the first one's in the second's.

        Both intervals show the uncertainty of measuring; a difference below 0.002 is none.
        """
        if self.first.value is None or self.second.value is None:
            return False
        return self.first.covers(self.second.value, slack=_DUST) or self.second.covers(self.first.value, slack=_DUST)

    def __str__(self) -> str:
        return f"{self.name}: {_words(self.first)}, then {_words(self.second)}"


def compare_profiles(first: Profile, second: Profile) -> list[Comparison]:
    """Return a comparison for each figure that both profiles measured.

    Positions are compared one by one if both curves have as many.
    """
    others = dict(_figures(second, ""))
    pairs = ((name, one, others.get(name)) for name, one in _figures(first, ""))
    return [
        Comparison(name, one, other) for name, one, other in pairs if other is not None and one.known and other.known
    ]


def _figures(value: Any, name: str) -> Iterator[tuple[str, Figure]]:
    if isinstance(value, Figure):
        yield name, value
    elif is_dataclass(value) and not isinstance(value, type):
        for one in fields(value):
            yield from _figures(getattr(value, one.name), f"{name}.{one.name}".lstrip("."))
    elif isinstance(value, Mapping):
        for key, one in value.items():
            yield from _figures(one, f"{name}.{key}")
    elif isinstance(value, tuple):
        for place, one in enumerate(value):
            yield from _figures(one, f"{name}[{place}]")


def _words(figure: Figure) -> str:
    interval = "" if figure.low is None or figure.high is None else f" ({figure.low:.4f} to {figure.high:.4f})"
    return "unknown" if figure.value is None else f"{figure.value:.4f}{interval}"
