"""The judges ``profile:FILE`` and ``profile:NAME``: simulated judges with a profile's figures as their vices.

A profile's judge does not read answers. It knows how good each is (its gold, unless told otherwise), and errs as the
profile says. Options stand behind a ``?``: ``profile:gpt-5.4?fidelity=0.5&seed=1``.
"""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any, Final, TypeAlias
from urllib.parse import unquote

import numpy as np

from calipers.errors import ConfigError, PermanentError
from calipers.study.profiles.profile import Profile, find_profile
from calipers.testing import Bias, Coarse, Flaky, LengthBias, Noise, PositionBias, SimulatedJudge, Vice
from calipers.testing.question import Question
from calipers.types import Candidate, RenderedGroup

QualityOf: TypeAlias = str | Callable[[str, str], float]
"""Where quality (0-1) comes from: "gold", "metadata:KEY", or a function of group id and trajectory id."""
WARNING: Final = "judged by a simulated judge with a profile, which knows the truth: for studies, not for training"
"""The warning on every result of a profile's judge."""
_OPTIONS: Final = ("quality", "low", "high", "fidelity", "seed")
_FORM: Final = "write profile:FILE or profile:NAME, and options as in profile:NAME?quality=metadata:KEY&seed=1"
_LEVELS: Final = range(2, 101)


def profile_judge(argument: str) -> ProfileJudge:
    """Return the judge ``profile:ARGUMENT``: a file or a shipped profile's name, and perhaps options behind a ``?``.

    Options are ``quality`` (gold, or metadata:KEY), ``low`` and ``high`` (its range), ``fidelity`` and ``seed``.
    Raises ConfigError or InputError for what cannot be used.
    """
    profile, options = _parts(argument)
    low, high = _number("low", options.get("low", "0")), _number("high", options.get("high", "1"))
    seed = _number("seed", options.get("seed", "0"))
    return ProfileJudge(profile, quality=options.get("quality", "gold"), low=low, high=high, seed=int(seed))


def profile_judge_of(argument: str, quality: Callable[[str, str], float], *, seed: int) -> ProfileJudge:
    """Return the judge ``profile:ARGUMENT`` for a study that knows the quality (0-1) of each trajectory.

    Raises ConfigError for options that follow from the study, and as ``profile_judge``.
    """
    profile, options = _parts(argument)
    for name in options.keys() - {"fidelity"}:
        raise ConfigError(f"profile option {name}=: leave it out; it follows from the study")
    return ProfileJudge(profile, quality=quality, seed=seed)


def _parts(argument: str) -> tuple[Profile, Mapping[str, str]]:
    """Return the profile that ``argument`` names, with the fidelity that its options ask for, and the options."""
    source, mark, text = argument.partition("?")
    if not source:
        raise ConfigError(f"profile: names no profile; {_FORM}")
    named: dict[str, str] = {}
    for part in text.split("&") if mark else ():
        name, equals, value = part.partition("=")
        if not equals or name not in _OPTIONS or name in named:
            raise ConfigError(f"profile option {part!r}: known are {', '.join(_OPTIONS)}, each once; {_FORM}")
        named[name] = unquote(value)
    profile = find_profile(source)
    return (with_fidelity(profile, _number("fidelity", named["fidelity"])) if "fidelity" in named else profile), named


def _number(name: str, text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ConfigError(f"profile option {name}={text}: it must be a number")
    return number


def with_fidelity(profile: Profile, fidelity: float) -> Profile:
    """Return a profile whose single answers have the correlation ``fidelity`` with quality, within groups.

    What lasts in its scores is shared out anew between quality and lasting error; noise and biases stay. Raises
    ConfigError if they keep the judge from it.
    """
    sd = profile.quality_sd or 0.5
    lasting = ((profile.gain or 0.0) * sd) ** 2 + profile.error**2
    single = lasting + (profile.noise or 0.0) ** 2 + _variance(profile.positions)
    of_quality = fidelity * math.sqrt(single)
    if not 0 <= fidelity <= 1 or of_quality**2 > lasting:
        most = math.sqrt(lasting / single) if single else 0.0
        raise ConfigError(
            f"profile {profile.name!r}: fidelity={fidelity:g} is not from 0 to {most:.2f}, the most possible"
        )
    return replace(
        profile, gain=of_quality / sd, error=math.sqrt(lasting - of_quality**2), quality_sd=sd, fidelity=fidelity
    )


def _variance(values: Sequence[float]) -> float:
    return math.fsum(value**2 for value in values) / len(values) if values else 0.0


@dataclass(frozen=True, slots=True)
class Opinion(Bias):
    """What a profile's judge thinks of a candidate before it errs: ``level`` + ``gain`` * (quality - ``centre``)."""

    level: float
    gain: float
    centre: float

    def sway(self, opinions: Sequence[float], question: Question) -> list[float]:  # noqa: ARG002 - the interface requires it
        return [self.level + self.gain * (quality - self.centre) for quality in opinions]


@dataclass(frozen=True, slots=True)
class PositionCurve:
    """Position bias through ``points``, evenly spaced from the first position to the last, linear between them."""

    points: tuple[float, ...]

    def __call__(self, place: float) -> float:
        """Return what the relative ``place``, 0 (first) to 1 (last), adds to a score of a profile's judge."""
        return float(np.interp(place * (len(self.points) - 1), range(len(self.points)), self.points))


def vices_of(profile: Profile) -> list[Vice]:
    """Return the vices of a simulated judge with this profile, in the order in which they act.

    Raises ConfigError for a profile without gold.
    """
    if profile.gain is None:
        raise ConfigError(
            f"profile {profile.name!r} was measured without gold, so its agreement with quality is unknown; name one: "
            "?fidelity=0.6"
        )
    levels, errors = _levels(profile), profile.error**2 + (profile.noise or 0.0) ** 2
    # Rounding to levels adds an error of its own, which is in the measured ones already.
    rounding = 0.0 if levels is None else 1 / 12 / (levels - 1) ** 2
    rest = math.sqrt(max(0.0, 1 - rounding / errors)) if errors else 0.0
    vices: list[Vice] = [Opinion(profile.level, profile.gain, profile.quality_mean)]
    if profile.error:
        vices.append(Noise(rest * profile.error, per="candidate"))
    if profile.per_doubling:
        vices.append(LengthBias(profile.per_doubling))
    if len(profile.positions) > 1:
        vices.append(PositionBias(1.0, PositionCurve(profile.positions)))
    if profile.noise:
        vices.append(Noise(rest * profile.noise))
    if levels is not None:
        vices.append(Coarse(levels))
    if profile.failures:
        vices.append(Flaky(refused=profile.failures))
    return vices


def _levels(profile: Profile) -> int | None:
    """Return on how many equally spaced scores a normal opinion ties as often as the judge; None: all 101 of them."""
    sd = math.sqrt(((profile.gain or 0.0) * profile.quality_sd) ** 2 + profile.error**2 + (profile.noise or 0.0) ** 2)
    if not sd:
        return None
    opinion = NormalDist(profile.level, sd)

    def ties(levels: int) -> float:
        edges = [0.0, *(opinion.cdf((place + 0.5) / (levels - 1)) for place in range(levels - 1)), 1.0]
        return math.fsum((after - before) ** 2 for before, after in itertools.pairwise(edges))

    if profile.ties <= ties(101):
        return None
    return min(_LEVELS, key=lambda levels: abs(ties(levels) - profile.ties))


class ProfileJudge(SimulatedJudge):
    """A simulated judge with the figures of ``profile``.

    ``quality`` is each candidate's quality, from ``low`` to ``high``: "gold" (of the trajectories), "metadata:KEY" (a
    number) or a function. ``seed`` draws the judge's errors. Raises ConfigError for a profile without gold.
    """

    def __init__(
        self, profile: Profile, *, quality: QualityOf = "gold", low: float = 0.0, high: float = 1.0, seed: int = 0
    ) -> None:
        if isinstance(quality, str) and quality != "gold" and not quality.removeprefix("metadata:").strip():
            raise ConfigError("profile option quality=metadata: names no key")
        if isinstance(quality, str) and quality != "gold" and not quality.startswith("metadata:"):
            raise ConfigError(f"profile option quality={quality}: write gold or metadata:KEY")
        if not low < high:
            raise ConfigError(f"profile options low={low:g} and high={high:g}: the first must be lower")
        super().__init__(lambda _group, _id: 0.0, *vices_of(profile), seed=seed)
        self.profile = profile
        self._quality_of, self._low, self._high = quality, low, high
        self.endpoint = "profile"
        source = quality if isinstance(quality, str) else getattr(quality, "__qualname__", type(quality).__qualname__)
        digest = hashlib.sha256(f"{self.model} {source} {low!r} {high!r}".encode()).hexdigest()[:8]
        self.model = f"{profile.name}-{seed}-{digest}"
        self.warnings = (WARNING,)

    def _truth(self, view: RenderedGroup, candidate: Candidate, aspect: str) -> float:  # noqa: ARG002 - one quality for all criteria
        place = candidate.members[0]
        value = self._value(view, place)
        if isinstance(value, bool) or not isinstance(value, int | float) or not self._low <= value <= self._high:
            name = self._quality_of if isinstance(self._quality_of, str) else "quality"
            raise PermanentError(
                "internal",
                f"trajectory {view.ids[place]!r} of group {view.group_id!r}: a profile's judge needs its {name}, from "
                f"{self._low:g} to {self._high:g}; name another source or range behind the profile's name: "
                "?quality=metadata:KEY&low=0&high=10",
            )
        return (value - self._low) / (self._high - self._low)

    def _value(self, view: RenderedGroup, place: int) -> Any:
        if not isinstance(self._quality_of, str):
            return self._quality_of(view.group_id, view.ids[place])
        if self._quality_of == "gold":
            return view.gold[place] if view.gold else None
        return view.metadata[place].get(self._quality_of.removeprefix("metadata:")) if view.metadata else None
