"""A judge's profile as settings of the simulation.

Not responsible for profiles themselves (``study.profiles``).
"""

from __future__ import annotations

from math import hypot
from typing import Any

from calipers.study.profiles.fidelity import with_even_groups
from calipers.study.profiles.named import named_latent


def settings_of_profile(argument: str) -> dict[str, Any]:
    """Return the keys of a simulation's judge that follow from ``profile = ARGUMENT``, a name or file with options.

    All are in the profile's units of opinions. Right responses have the quality 1 and wrong ones 0. The simulation has
    no setting for what members of a group share (``group_sd``) and for groups that differ in spread or in what quality
    counts (``log_spread``, ``gain_sd``, ``group_gain``): ``response_noise`` stands for them, so that one answer has the
    profile's fidelity (``fidelity.with_even_groups``). A preference for the judge's own family is left out. Errors
    between orders are drawn for each answer. A judge of pairs or rankings gives its opinions themselves, as if it were
    asked for numbers. One mark of formatting, one phrase of flattery and one confident word count as the feature.

    Raises ConfigError or InputError for a profile that cannot be used.
    """
    profile, latent = named_latent(argument)
    latent = with_even_groups(profile, latent)
    gain = latent.gain or 0.0
    found: dict[str, Any] = {
        "gain": gain,
        "response_noise": latent.candidate_sd,
        "noise": hypot(latent.order_sd, latent.call_sd),
        "injection": latent.injected,
        "slope": latent.slope,
        "first": latent.first,
        "last": latent.last,
        "failures": latent.failures,
        "failures_by_length": latent.failures_per_doubling,
    }
    features = {"length": "length", "markdown": "format", "flattery": "flattery", "confidence": "confidence"}
    found |= {features[name]: value for name, value in latent.per_unit.items() if name in features}
    if profile.scale.kind == "scores":
        # The simulation's opinions are not centred: gain * centre more than the profile's.
        found["thresholds"] = tuple(one + gain * latent.centre for one in latent.thresholds)
        found["scores"] = tuple(one.score for one in profile.scale.levels)
    return found
