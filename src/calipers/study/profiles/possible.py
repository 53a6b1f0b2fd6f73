"""Refuses a profile's file with values that no judge can have, or that contradict each other.

Not responsible for the form of the file (``decoding``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, Final

from calipers.study.profiles.decoding import DecodingError, Path
from calipers.study.profiles.figures import Figure
from calipers.study.profiles.profile import Latent, Profile

_SHARES: Final = ("ties", "tied_groups", "reliability", "rate", "true_positives", "false_positives")
_CORRELATED: Final = (
    "j",
    "somers_d",
    "pearson",
    "pearson_at_quarter_spread",
    "with_length",
    "with_gold",
    "with_size",
)
_DEVIATIONS: Final = ("noise", "order_noise", "spread", "one_call", "between_groups")
_SDS: Final = ("group_sd", "candidate_sd", "order_sd", "call_sd", "log_spread", "gain_sd", "quality_sd")
_LARGEST: Final = 1e6
"""The largest latent number in size. Opinions are in units of their own spread, so that real ones are below 100."""


def require_possible(profile: Profile) -> None:
    """Raise DecodingError, with the path of the value, for values that no judge's profile can have."""
    for path, figure in _figures(profile, ()):
        _require_figure(figure, path)
    _require_provenance(profile)
    _require_levels(profile)
    if profile.position.slope.known and not profile.position.curve:
        raise DecodingError("must have a figure for each position, because there is a slope", ("position", "curve"))
    if profile.latent is not None:
        _require_latent(profile, profile.latent)


def _figures(held: Any, path: Path) -> Iterator[tuple[Path, Figure]]:
    if isinstance(held, Figure):
        yield path, held
    elif is_dataclass(held):
        for one in fields(held):
            yield from _figures(getattr(held, one.name), (*path, one.name))
    elif isinstance(held, Mapping):
        for name, one in held.items():
            yield from _figures(one, (*path, str(name)))
    elif isinstance(held, tuple):
        for one in held:
            yield from _figures(one, path)


def _require_figure(figure: Figure, path: Path) -> None:
    for count in ("n", "groups"):
        if getattr(figure, count) < 0:
            raise DecodingError(f"must not be negative, unlike {getattr(figure, count)}", (*path, count))
    name = path[-1]
    least, most = _range(name)
    for part in ("value", "low", "high"):
        number = getattr(figure, part)
        if number is not None and not least <= number <= most:
            words = f"at least {least:g}" if most == float("inf") else f"from {least:g} to {most:g}"
            raise DecodingError(f"must be {words}, not {number:g}", (*path, part))
    if (figure.low is None) != (figure.high is None) or (figure.low is not None and figure.value is None):
        raise DecodingError("must have a value and both ends of its interval, or no interval", path)
    if not figure.covers(figure.value or 0.0) and figure.value is not None:
        ends = f"{figure.low:g} to {figure.high:g}"
        raise DecodingError(f"must be in its own interval ({ends}), unlike {figure.value:g}", (*path, "value"))


def _range(name: str) -> tuple[float, float]:
    """Return the least and the greatest value that a figure of this name can have."""
    if name in _SHARES:
        return 0.0, 1.0
    if name in _CORRELATED:
        return -1.0, 1.0
    if name in _DEVIATIONS:
        return 0.0, float("inf")
    return (1.0, float("inf")) if name == "used" else (-float("inf"), float("inf"))


def _require_provenance(profile: Profile) -> None:
    origin = profile.provenance
    for count in ("groups", "answers", "off_scale", "scales"):
        if getattr(origin, count) < 0:
            raise DecodingError(f"must not be negative, unlike {getattr(origin, count)}", ("provenance", count))
    for name in ("scale", "gold_range"):
        ends = getattr(origin, name)
        if ends is not None and not ends[0] <= ends[1]:
            raise DecodingError(f"must rise, unlike {ends[0]:g} to {ends[1]:g}", ("provenance", name))


def _require_levels(profile: Profile) -> None:
    levels = profile.scale.levels
    scores = [one.score for one in levels]
    if scores != sorted(set(scores)) or not all(0 <= one <= 1 for one in scores):
        raise DecodingError("must have scores that rise, from 0 to 1", ("scale", "levels"))
    if not all(0 <= one.share <= 1 for one in levels) or (levels and abs(sum(one.share for one in levels) - 1) > 1e-3):
        raise DecodingError("must have shares from 0 to 1 that sum to 1", ("scale", "levels"))


def _require_latent(profile: Profile, latent: Latent) -> None:
    for one in fields(latent):
        held = getattr(latent, one.name)
        numbers = held.values() if isinstance(held, Mapping) else held if isinstance(held, tuple) else (held,)
        if any(isinstance(number, float) and abs(number) > _LARGEST for number in numbers):
            raise DecodingError(f"must be at most {_LARGEST:g} in size", ("latent", one.name))
    for name in _SDS:
        if getattr(latent, name) < 0:
            raise DecodingError("must not be negative: it is a standard deviation", ("latent", name))
    thresholds = latent.thresholds
    if list(thresholds) != sorted(thresholds):
        raise DecodingError("must rise", ("latent", "thresholds"))
    wanted = max(len(profile.scale.levels) - 1, 0)
    if profile.scale.kind != "ranks" and len(thresholds) != wanted:
        message = f"must be one fewer than the levels: {wanted}, not {len(thresholds)}"
        raise DecodingError(message, ("latent", "thresholds"))
    if not 0 <= latent.failures <= 1:
        raise DecodingError(f"must be a share from 0 to 1, not {latent.failures:g}", ("latent", "failures"))
