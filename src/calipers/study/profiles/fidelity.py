"""How far a judge with a profile agrees with the truth, and the same judge at another agreement.

*Agreement* is the correlation of the opinion that repeated answers share with quality. *Fidelity* is that of the scores
of one answer, as in ``Agreement.pearson``: noise, position bias, ties and uneven groups lower it. Not responsible for
answering (``judge``).
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from calipers.calibration.arrays import Array
from calipers.calibration.measures import fidelity, mean_over_groups
from calipers.errors import ConfigError
from calipers.study.profiles.positions import weights_of
from calipers.study.profiles.profile import Latent, Profile

_GROUPS, _SIZE = 4000, 8
_HALVINGS = 14
_WIDEST = 20.0


def with_agreement(profile: Profile, agreement: float | None, quality_sd: float | None) -> Latent:
    """Return a profile's latent numbers with another agreement with quality, or as they are without ``agreement``.

    The variance of the opinions that repeated answers share stays the same. Raises ConfigError if the profile has no
    latent numbers, or no agreement and none is given.
    """
    latent = profile.latent
    if latent is None:
        raise ConfigError(f"profile {profile.name!r} cannot answer: it has no 'latent' numbers; fit it again")
    if agreement is None:
        if latent.gain is None:
            raise ConfigError(
                f"profile {profile.name!r} was fitted without gold, so its agreement with quality is unknown; name one "
                "between 0 and 1: ?agreement=0.6, in Python agreement=0.6"
            )
        return latent
    if not 0 <= agreement <= 1:
        raise ConfigError(f"agreement must be from 0 to 1, not {agreement!r}")
    sd = quality_sd if quality_sd is not None else latent.quality_sd or 0.5
    if not 0 < sd <= 1:
        raise ConfigError(f"quality_sd must be above 0 and at most 1, not {sd!r}")
    own = (latent.gain or 0.0) * latent.quality_sd
    shared = math.sqrt(own**2 + latent.candidate_sd**2)
    return replace(
        latent,
        gain=agreement * shared / sd,
        candidate_sd=shared * math.sqrt(1 - agreement**2),
        centre=latent.centre if latent.gain is not None else 0.5,
    )


def agreement_for(profile: Profile, wanted: float, quality_sd: float | None = None) -> float:
    """Return the agreement at which a judge with ``profile`` has the fidelity ``wanted`` (see ``fidelity_of``).

    Raises ConfigError if noise and biases keep the judge from it, or as ``with_agreement``.
    """
    most = max(fidelity_of(profile, with_agreement(profile, 1.0, quality_sd)), 0.0)
    if not 0 <= wanted <= most:
        raise ConfigError(
            f"profile {profile.name!r} cannot have the fidelity {wanted:g}: with its noise, biases and scale, one "
            f"answer has from 0 to {math.floor(100 * most) / 100:g}"
        )
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        reached = fidelity_of(profile, with_agreement(profile, middle, quality_sd)) >= wanted
        low, high = (low, middle) if reached else (middle, high)
    return (low + high) / 2


def with_even_groups(profile: Profile, latent: Latent) -> Latent:
    """Return a profile's latent numbers without what groups differ in or share, at the same fidelity.

    Groups have the same spread and the same gain, and their members no error in common. In place of these, the
    candidate's own error is larger (or smaller).
    """
    even = replace(latent, group_sd=0.0, log_spread=0.0, gain_sd=0.0, group_gain=None)
    if even == latent:
        return latent
    wanted = abs(fidelity_of(profile, latent))
    low, high = 0.0, _WIDEST * max(abs(latent.gain or 0.0), latent.candidate_sd)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        above = abs(fidelity_of(profile, replace(even, candidate_sd=middle))) >= wanted
        low, high = (middle, high) if above else (low, middle)
    return replace(even, candidate_sd=(low + high) / 2)


def fidelity_of(profile: Profile, latent: Latent) -> float:
    """Return the mean correlation (Pearson) with truth, within groups, of one answer of a judge with a profile.

    It is simulated, with the same draws each time, on lists of 8 in random order, of which half are right (quality 1)
    and half wrong (0). A list with all scores tied counts as 0. Texts are left out: preferences add nothing here.
    """
    draw = np.random.default_rng(0)
    shape, column = (_GROUPS, _SIZE), (_GROUPS, 1)
    right = draw.permuted(np.tile([0.0, 1.0], (_GROUPS, _SIZE // 2)), axis=1)
    spread = latent.log_spread * draw.normal(size=column) - latent.log_spread**2 / 2
    gain = (latent.gain or 0.0) + latent.gain_sd * draw.normal(size=column)
    if latent.group_gain is None:
        opinions = gain * (right - latent.centre)
    else:
        opinions = gain * (right - 0.5) + latent.group_gain * (0.5 - latent.centre)
    opinions = np.exp(spread) * (opinions + latent.candidate_sd * draw.normal(size=shape))
    opinions = opinions + latent.group_sd * draw.normal(size=column)
    opinions = opinions + latent.order_sd * draw.normal(size=shape) + latent.call_sd * draw.normal(size=shape)
    places, sizes = np.broadcast_to(np.arange(_SIZE, dtype=float), shape), np.full(shape, float(_SIZE))
    for part in ("slope", "first", "last"):
        opinions = opinions + getattr(latent, part) * weights_of(part, places, sizes)
    return mean_over_groups(fidelity(_scores(profile, latent, opinions), right)) or 0.0


def _scores(profile: Profile, latent: Latent, opinions: Array) -> Array:
    """Return what a judge with a profile makes of opinions, (lists, members), as the vices of ``scale_use`` do."""
    levels = np.array([one.score for one in profile.scale.levels])
    match profile.scale.kind:
        case "scores":
            return np.asarray(levels[np.searchsorted(latent.thresholds, opinions, side="right")])
        case "pairs":
            gaps = np.triu_indices(opinions.shape[1], 1)
            won = levels[np.searchsorted(latent.thresholds, opinions[:, gaps[0]] - opinions[:, gaps[1]], side="right")]
            total = np.zeros_like(opinions)
            for number, (one, other) in enumerate(zip(*gaps, strict=True)):
                total[:, one] += won[:, number]
                total[:, other] += 1 - won[:, number]
            return total / (opinions.shape[1] - 1)
        case "ranks":
            return np.asarray(opinions.argsort(axis=1).argsort(axis=1) / (opinions.shape[1] - 1.0))
