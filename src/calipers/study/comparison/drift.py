"""What tier 1 expects a judge of a comparison to do to a policy: the drift of each feature in the first step of GRPO.

The judge's measured preferences, noise, position bias and failures become settings of the simulator's judge, which
rewards the simulator's standard policy. In that policy features say nothing about quality, so that all drift of a
feature is the judge's doing. Settings are in scores, not in a profile's latent opinions (``simulation.profiled``): the
levels of a profile are those of the answers as they are, which may never have had the feature. Not responsible for the
simulation itself (``simulation``).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np

from calipers.calibration.arrays import Array
from calipers.calibration.measures import centred_values
from calipers.study.comparison.preferences import Preferences
from calipers.study.intervals import Estimate, estimate
from calipers.study.profiles.figures import Figure
from calipers.study.profiles.profile import Profile
from calipers.study.simulation.runs import run_arm
from calipers.study.simulation.settings import Arm, JudgeSettings, PolicySettings
from calipers.testing.features import TEXT_FEATURES, TextFeature

DRIFTS: Final = ("quality", "length", "format", "flattery", "confidence")
"""The features of the simulator's policy whose drift is predicted."""
_SEEDS: Final = 256
_FEWER_SEEDS: Final = 64
"""For the ends of intervals: differences between runs with the same seeds have little error."""
_QUALITY_SD: Final = math.sqrt(sum(one * (1 - one) for one in PolicySettings().quality) / len(PolicySettings().quality))
"""The standard deviation of quality within the groups of the simulator's standard policy, right or wrong."""
_MEASURED: Final[Mapping[str, TextFeature]] = {
    "length": "length",
    "format": "markdown",
    "flattery": "flattery",
    "confidence": "confidence",
}
"""The simulator's features, and those of texts that they stand for."""


@dataclass(frozen=True, slots=True)
class MeanScores:
    """A judge's mean score of each answer of a comparison over ``calls`` calls, with the answer's quality and features.

    ``means`` and ``quality`` have the shape (groups, members), ``features`` (groups, members, features); NaN unknown.
    """

    means: Array
    quality: Array
    features: Array
    calls: float


@dataclass(frozen=True, slots=True)
class Drift:
    """The drift that tier 1 predicts under a comparison's judge: cov(feature, advantage), by feature.

    Length is in standard deviations, the others are 0 or 1. An interval spans the drifts at both ends of the interval
    of the judge's preference for the feature (for quality, of what quality adds), and the error of the simulation.
    ``judge`` is the simulated judge, and ``assumed`` says what was taken where the answers do not show it.
    """

    by_feature: Mapping[str, Figure]
    judge: JudgeSettings
    assumed: tuple[str, ...] = field(default=())


def predicted_drift(profile: Profile, found: Preferences, scores: MeanScores) -> Drift | None:
    """Return the drift of features in the first step of GRPO under a comparison's judge with these measures.

    None if no preference of the judge is known.
    """
    measured = {name: _preference(profile, found, name) for name in DRIFTS}
    if not any(measured[name].known for name in DRIFTS if name != "quality"):
        return None
    judge, assumed = simulated_judge(profile, found, scores)
    middle = _simulated(judge, _SEEDS)
    return Drift({name: _with_bounds(name, middle[name], measured[name], judge) for name in DRIFTS}, judge, assumed)


def _with_bounds(name: str, middle: Estimate, measured: Figure, judge: JudgeSettings) -> Figure:
    error = middle.half_width or 0.0
    moved = [0.0]
    if measured.low is not None and measured.high is not None:
        setting = "gain" if name == "quality" else name
        worth = (getattr(judge, setting), measured.low, measured.high)
        here, *ends = (_simulated(_with(judge, setting, one), _FEWER_SEEDS)[name].mean for one in worth)
        moved = [end - here for end in ends]
    low, high = (middle.mean + bound for bound in (min(0.0, *moved) - error, max(0.0, *moved) + error))
    return Figure(middle.mean, low, high, middle.n, measured.groups)


def _with(judge: JudgeSettings, setting: str, value: float) -> JudgeSettings:
    changed: dict[str, Any] = {setting: value}
    return replace(judge, **changed)


def _simulated(judge: JudgeSettings, seeds: int) -> dict[str, Estimate]:
    """Return the drift of each feature in the first step of the simulator's standard policy under ``judge``."""
    curves = run_arm(Arm("", judge=judge), seeds=range(seeds), steps=1)
    drifts = {name: curves.by_name[f"drift_{name}"][:, 0] for name in DRIFTS}
    return {name: estimate([float(one) for one in values]) for name, values in drifts.items()}


def _preference(profile: Profile, found: Preferences, name: str) -> Figure:
    """Return what a unit of the simulator's feature ``name`` is worth to a comparison's judge, in scores.

    Preferences that rewrites measured come first, then those of the profile. As in ``simulation.profiled``, one mark of
    formatting, one phrase of flattery and one confident word count as the feature.
    """
    if name == "quality":
        return profile.agreement.per_quality
    own = found.per_unit.get(_MEASURED[name])
    return own if own is not None and own.known else profile.preferences[_MEASURED[name]].per_unit


def simulated_judge(profile: Profile, found: Preferences, scores: MeanScores) -> tuple[JudgeSettings, tuple[str, ...]]:
    """Return a comparison's judge as the simulator's, and what had to be assumed."""
    assumed: list[str] = []

    def value(figure: Figure, default: float, what: str) -> float:
        if figure.value is not None:
            return figure.value
        assumed.append(f"{what} {default:.3g} ({figure.reason})")
        return default

    worth = {name: value(_preference(profile, found, name), 0.0, f"{name} adds") for name in _MEASURED}
    repeats = profile.repeatability
    spread = repeats.spread if repeats.spread.known else repeats.one_call
    gain = value(
        _preference(profile, found, "quality"), (spread.value or 0.0) / _QUALITY_SD, "quality from 0 to 1 adds"
    )
    noise = value(repeats.order_noise if repeats.order_noise.known else repeats.noise, 0.0, "noise")
    positions = profile.position
    judge = JudgeSettings(
        gain=gain,
        noise=noise,
        response_noise=_response_noise(scores, gain, worth, noise),
        length=worth["length"],
        format=worth["format"],
        flattery=worth["flattery"],
        confidence=worth["confidence"],
        slope=positions.slope.value or 0.0,
        first=positions.first.value or 0.0,
        last=positions.last.value or 0.0,
        failures=min(profile.failures.rate.value or 0.0, 0.999),
    )
    return judge, tuple(assumed)


def _response_noise(scores: MeanScores, gain: float, worth: Mapping[str, float], noise: float) -> float:
    """Return the standard deviation of what a judge adds to an answer in every call, beyond quality and features.

    Without gold, all stable differences are taken for quality, so that it is 0.
    """
    features = [scores.features[..., TEXT_FEATURES.index(_MEASURED[name])] for name in worth]
    known = ~np.isnan(scores.means + scores.quality + sum(features))
    freedom = float(np.maximum(known.sum(axis=1) - 1, 0).sum())
    if not freedom:
        return 0.0
    explained = gain * scores.quality + sum(one * values for one, values in zip(worth.values(), features, strict=True))
    squares = float((centred_values(scores.means - explained, known) ** 2).sum())
    return math.sqrt(max(squares / freedom - noise**2 / scores.calls, 0.0))
