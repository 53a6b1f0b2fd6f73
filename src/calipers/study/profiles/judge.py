"""A simulated judge with a profile's character: it answers from a hidden quality, with exactly the profile's vices.

It is a ``calipers.testing.SimulatedJudge``, so it answers every form of question in real reply text. The hidden quality
is each trajectory's ``gold``, a key of its metadata, or a function. Not responsible for the vices themselves
(``calipers.testing``), or for solving the profile's numbers (``latent``).
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from calipers.errors import ConfigError, PermanentError
from calipers.study.profiles.features import injection, own_family
from calipers.study.profiles.fidelity import with_agreement
from calipers.study.profiles.profile import Feature, Latent, Profile
from calipers.testing import (
    Bias,
    Levels,
    Noise,
    PairLevels,
    PositionCurve,
    Preference,
    Ranked,
    RefusedByLength,
    SimulatedJudge,
    UnevenSpread,
    Vice,
)
from calipers.testing.features import FeatureOf
from calipers.testing.question import Question
from calipers.types import Candidate, RenderedGroup

QualityOf: TypeAlias = str | Mapping[str, float] | Callable[[str, str], float]
"""Where the hidden quality (0-1) comes from: "gold", "metadata:KEY", a mapping by trajectory id, or a function of
group id and trajectory id.
"""

WARNING: Final = (
    "judged by a simulated judge with a profile, from a hidden quality: for studies and tests, not for training"
)
"""The warning on every result of a profile judge."""
_FITTED: Final = "gold is taken to be on the scale of its fit, {:g} to {:g}; ?low=...&high=... name another"


@dataclass(frozen=True, slots=True)
class QualitySource:
    """Where a profile judge's hidden quality comes from, and the range that is mapped to 0-1.

    ``fitted`` is the range of the gold that the profile was fitted to, which is used instead where groups' gold is on
    the same scale.
    """

    source: QualityOf = "gold"
    low: float = 0.0
    high: float = 1.0
    fitted: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        if isinstance(self.source, str) and self.source != "gold" and not self.source.removeprefix("metadata:"):
            raise ConfigError("quality=metadata: names no key; write quality=metadata:KEY")
        if isinstance(self.source, str) and self.source != "gold" and not self.source.startswith("metadata:"):
            raise ConfigError(
                f"quality={self.source!r}: write gold or metadata:KEY; in Python, a mapping or a function"
            )
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low < self.high):
            raise ConfigError(f"the quality's range must rise, unlike {self.low:g} to {self.high:g}")

    def of(self, view: RenderedGroup, candidate: Candidate, aspect: str) -> float:
        """Return a candidate's quality, 0-1, for a profile judge; ``aspect`` is the criterion asked about, or "".

        Raises PermanentError if there is none, or if it is outside the range.
        """
        place = candidate.members[0]
        value = self._value(view, place, aspect)
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            name, where = self._words(view, place)
            raise PermanentError(
                "internal",
                f"{where} has no {name}, from which a profile judge answers; add it to the groups, or name another "
                "source behind the profile's name: ?quality=metadata:KEY",
            )
        low, high, least, most = self._range(view)
        if not least <= value <= most:
            name, where = self._words(view, place)
            raise PermanentError(
                "internal",
                f"the {name} of {where} is {value:g}, outside {least:g} to {most:g}; name its range behind the "
                "profile's name: ?low=...&high=...",
            )
        return (value - low) / (high - low)

    def _range(self, view: RenderedGroup) -> tuple[float, float, float, float]:
        """Return the range that is mapped to 0-1, and the range of values that are on the same scale."""
        if self.fitted is None:
            return self.low, self.high, self.low, self.high
        low, high = self.fitted
        if low >= 0 and high <= 1:
            return low, high, 0.0, 1.0
        known = [one for one in view.gold or () if one is not None]
        if known and min(known) < low and max(known) <= 1:
            return 0.0, 1.0, 0.0, 1.0
        return low, high, low, high

    def _words(self, view: RenderedGroup, place: int) -> tuple[str, str]:
        name = self.source if isinstance(self.source, str) else "quality"
        return name, f"trajectory {view.ids[place]!r} of group {view.group_id!r}"

    def _value(self, view: RenderedGroup, place: int, aspect: str) -> Any:
        match self.source:
            case "gold":
                return view.gold[place] if view.gold else None
            case str() as key:
                found = view.metadata[place].get(key.removeprefix("metadata:")) if view.metadata else None
                return found.get(aspect) if isinstance(found, Mapping) else found
            case Mapping() as qualities:
                return qualities.get(view.ids[place])
            case function:
                return function(view.group_id, view.ids[place])


class ProfileJudge(SimulatedJudge):
    """A simulated judge with the character of ``profile``.

    ``quality`` is the source of the hidden quality, on a scale from ``low`` to ``high``: "gold" (of the trajectories),
    "metadata:KEY" (a number, or an object of numbers by criterion for rubrics), a mapping by trajectory id, or a
    function of group id and trajectory id. Without ``low`` and ``high``, gold is mapped as it was for the fit, and
    another quality is from 0 to 1. ``agreement`` (0-1) replaces the profile's agreement with quality: it is the
    correlation, within groups, of the opinion that repeated answers share with a quality of the standard deviation
    ``quality_sd``. Everything else stays; ``fidelity.agreement_for`` finds the agreement for a fidelity. ``features``
    replaces the definitions of features, for texts that are not prose. ``seed`` draws the judge's errors.

    Raises ConfigError if the profile cannot answer: it has no latent numbers, or no agreement with gold and none given.
    """

    def __init__(
        self,
        profile: Profile,
        *,
        quality: QualityOf = "gold",
        low: float | None = None,
        high: float | None = None,
        agreement: float | None = None,
        quality_sd: float | None = None,
        features: Mapping[Feature, FeatureOf] | None = None,
        seed: int = 0,
    ) -> None:
        self.profile = profile
        as_fitted = quality == "gold" and low is None and high is None and _is_told_from_unit(profile)
        self._source = QualitySource(
            quality,
            0.0 if low is None else low,
            1.0 if high is None else high,
            profile.provenance.gold_range if as_fitted else None,
        )
        latent = with_agreement(profile, agreement, quality_sd)
        super().__init__(_unused, *vices_of(profile, latent, features or {}, self._mean_quality), seed=seed)
        self.endpoint = "profile"
        self.model = f"{profile.name}-{seed}-{_digest(self.model, self._source)}"
        self.warnings = (WARNING,)

    async def check(self) -> Sequence[str]:
        """Return, before a run, what had to be assumed because the profile's answers did not show it."""
        assumed = self.profile.latent.assumed if self.profile.latent else ()
        fitted = self._source.fitted
        told = [] if fitted is None or 0 <= fitted[0] < fitted[1] <= 1 else [_FITTED.format(*fitted)]
        return [f"profile {self.profile.name}: {one}" for one in (*assumed, *told)]

    def _truth(self, view: RenderedGroup, candidate: Candidate, aspect: str) -> float:
        return self._source.of(view, candidate, aspect)

    def _mean_quality(self, view: RenderedGroup) -> float:
        known = [self._source.of(view, one, "") for one in view.candidates if one.members]
        return math.fsum(known) / len(known)


def _is_told_from_unit(profile: Profile) -> bool:
    """Return whether gold on the scale of a profile's fit cannot be mistaken for other gold from 0 to 1."""
    fitted = profile.provenance.gold_range
    return fitted is not None and (fitted[0] >= 1 or (fitted[0] >= 0 and fitted[1] <= 1))


def _unused(group_id: str, trajectory_id: str) -> float:
    raise AssertionError((group_id, trajectory_id))


def _digest(model: str, source: QualitySource) -> str:
    """Return a digest of all that decides answers, so that different profile judges share none in a ledger."""
    read = source.source
    if callable(read):  # the repr of a function or an object may hold an address, which differs between runs
        read = getattr(read, "__qualname__", type(read).__qualname__)
    fitted = "" if source.fitted in (None, (0.0, 1.0)) else f" {source.fitted!r}"
    return hashlib.sha256(f"{model} {read} {source.low!r} {source.high!r}{fitted}".encode()).hexdigest()[:8]


@dataclass(frozen=True, slots=True)
class Opinion(Bias):
    """The first step of a profile judge: a gain times (quality - ``centre``), in the profile's units of opinions.

    Each group has a gain of its own, normal with the mean ``gain`` and the standard deviation ``gain_sd``. If
    ``group_gain`` is not None, it is the gain of the group's mean quality, which ``mean_of`` returns.
    """

    gain: float
    centre: float
    gain_sd: float
    group_gain: float | None
    mean_of: Callable[[RenderedGroup], float]

    def sway(self, opinions: Sequence[float], question: Question) -> list[float]:
        gain = self.gain + (question.by_group().gauss(0, self.gain_sd) if self.gain_sd else 0.0)
        if self.group_gain is None:
            return [gain * (opinion - self.centre) for opinion in opinions]
        mean = self.mean_of(question.request.view)
        return [gain * (opinion - mean) + self.group_gain * (mean - self.centre) for opinion in opinions]


def vices_of(
    profile: Profile, latent: Latent, features: Mapping[Feature, FeatureOf], mean_of: Callable[[RenderedGroup], float]
) -> list[Vice]:
    """Return the vices of a simulated judge with this profile, in the order in which they act.

    ``mean_of`` returns the mean quality of a group.
    """
    vices: list[Vice] = [Opinion(latent.gain or 0.0, latent.centre, latent.gain_sd, latent.group_gain, mean_of)]
    vices += _noise(latent.candidate_sd, "candidate")
    for name, per_unit in latent.per_unit.items():
        vices.append(Preference(features.get(name) or _feature(name, profile), per_unit))
    if latent.injected:
        vices.append(Preference(injection, latent.injected))
    if latent.log_spread:
        vices.append(UnevenSpread(latent.log_spread))
    vices += [*_noise(latent.group_sd, "group"), *_noise(latent.order_sd, "order"), *_noise(latent.call_sd, "call")]
    if latent.slope or latent.first or latent.last:
        vices.append(PositionCurve(latent.slope, latent.first, latent.last))
    vices.append(_scale(profile, latent))
    if latent.failures:
        vices.append(RefusedByLength(latent.failures, latent.failures_per_doubling, latent.usual_length))
    return vices


def _noise(sd: float, per: Literal["call", "order", "candidate", "group"]) -> list[Vice]:
    return [Noise(sd, per=per)] if sd else []


def _feature(name: Feature, profile: Profile) -> Any:
    return own_family(profile.subject.judge) if name == "own_family" else name


def _scale(profile: Profile, latent: Latent) -> Bias:
    scores = tuple(one.score for one in profile.scale.levels)
    match profile.scale.kind:
        case "scores":
            return Levels(scores, latent.thresholds)
        case "pairs":
            return PairLevels(scores, latent.thresholds)
        case "ranks":
            return Ranked()
