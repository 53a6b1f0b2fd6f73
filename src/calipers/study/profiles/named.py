"""The judges ``profile:FILE`` and ``profile:NAME``: a profile's file, or a shipped profile, and options behind a ``?``.

Not responsible for answering (``judge``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import Final
from urllib.parse import unquote

from calipers.errors import ConfigError
from calipers.study.profiles.fidelity import agreement_for, with_agreement
from calipers.study.profiles.files import parse_profile, read_profile
from calipers.study.profiles.judge import ProfileJudge
from calipers.study.profiles.profile import Feature, Latent, Profile
from calipers.study.tables import is_file
from calipers.testing.features import FeatureOf

_OPTIONS: Final = ("quality", "low", "high", "agreement", "fidelity", "quality_sd", "seed")
_FORM: Final = "write profile:FILE or profile:NAME, and options as in profile:NAME?quality=metadata:KEY&seed=1"


def profile_judge(argument: str) -> ProfileJudge:
    """Return the judge ``profile:ARGUMENT``: a file or a shipped profile's name, and perhaps options.

    Options are ``?quality=gold`` (or ``metadata:KEY``), ``low``, ``high``, ``agreement``, ``fidelity``, ``quality_sd``
    and ``seed``, joined by ``&``; ``ProfileJudge`` explains them. Raises ConfigError or InputError for what cannot be
    used.
    """
    profile, given = _parts(argument)
    seed = _number("seed", given.get("seed", "0"))
    low, high = (_number(name, given[name]) if name in given else None for name in ("low", "high"))
    if not seed.is_integer():
        raise ConfigError(f"profile option seed={given['seed']}: it must be a whole number")
    agreement, quality_sd = _agreement(profile, given)
    return ProfileJudge(
        profile,
        quality=given.get("quality", "gold"),
        low=low,
        high=high,
        agreement=agreement,
        quality_sd=quality_sd,
        seed=int(seed),
    )


def named_latent(argument: str) -> tuple[Profile, Latent]:
    """Return a profile and its latent numbers by what stands behind ``profile:`` in a study that knows the quality.

    Raises as ``profile_judge_of``.
    """
    profile, given = _parts_in_study(argument)
    return profile, with_agreement(profile, *_agreement(profile, given))


def profile_named(argument: str) -> Profile:
    """Return the profile behind ``profile:ARGUMENT``, whatever its options. Raises as ``profile_judge``."""
    return _parts(argument)[0]


def profile_judge_of(
    argument: str,
    quality: Callable[[str, str], float],
    *,
    seed: int,
    features: Mapping[Feature, FeatureOf] | None = None,
) -> ProfileJudge:
    """Return the judge ``profile:ARGUMENT`` for a study that knows the quality (0-1) of each trajectory.

    ``features`` replaces definitions, for texts that are not prose. Raises as ``profile_judge``, and ConfigError for
    options that follow from the study.
    """
    profile, given = _parts_in_study(argument)
    agreement, quality_sd = _agreement(profile, given)
    return ProfileJudge(
        profile, quality=quality, agreement=agreement, quality_sd=quality_sd, features=features, seed=seed
    )


def _parts(argument: str) -> tuple[Profile, Mapping[str, str]]:
    """Return the profile that ``profile:ARGUMENT`` names, and the options."""
    source, mark, options = argument.rpartition("?") if "?" in argument else (argument, "", "")
    given = _options(options) if mark else {}
    return find_profile(source), given


def _parts_in_study(argument: str) -> tuple[Profile, Mapping[str, str]]:
    profile, given = _parts(argument)
    for name in ("quality", "low", "high", "seed"):
        if name in given:
            raise ConfigError(f"profile option {name}=: leave it out; it follows from the study")
    return profile, given


def _agreement(profile: Profile, given: Mapping[str, str]) -> tuple[float | None, float | None]:
    """Return the agreement that a profile judge's options name, or that has their fidelity, and the ``quality_sd``."""
    agreement, fidelity, quality_sd = (
        _number(name, given[name]) if name in given else None for name in ("agreement", "fidelity", "quality_sd")
    )
    if fidelity is None:
        return agreement, quality_sd
    if agreement is not None:
        raise ConfigError("profile options agreement= and fidelity= both say how far the judge agrees: leave one out")
    return agreement_for(profile, fidelity, quality_sd), quality_sd


def find_profile(source: str) -> Profile:
    """Return the profile in the file ``source``, or the shipped profile of that name.

    Raises ConfigError for an unknown name, and InputError for a file that is no profile.
    """
    if source in shipped_names():
        return shipped_profile(source)
    if source.endswith(".json") or is_file(Path(source)):
        return read_profile(source)
    if not source:
        raise ConfigError(f"profile: names no profile; {_FORM}")
    near = get_close_matches(source, shipped_names(), n=1)
    hint = f"did you mean {near[0]}?" if near else "`calipers judges` lists the shipped profiles"
    raise ConfigError(f"there is no profile {source!r}: neither a file nor a shipped profile; {hint}")


@lru_cache(maxsize=1)
def shipped_names() -> tuple[str, ...]:
    """Return the names of the profiles that come with calipers, sorted."""
    folder = resources.files(__package__).joinpath("shipped")
    return tuple(sorted(one.name.removesuffix(".json") for one in folder.iterdir() if one.name.endswith(".json")))


@lru_cache(maxsize=64)
def shipped_profile(name: str) -> Profile:
    """Return a profile that comes with calipers, by its name."""
    found = resources.files(__package__).joinpath("shipped", f"{name}.json")
    return parse_profile(found.read_text(encoding="utf-8"), source=f"{name}.json")


def _options(text: str) -> Mapping[str, str]:
    found: dict[str, str] = {}
    for part in text.split("&"):
        name, mark, value = part.partition("=")
        if not mark or name not in _OPTIONS:
            raise ConfigError(f"profile option {part!r}: known are {', '.join(f'{one}=' for one in _OPTIONS)}; {_FORM}")
        if name in found:
            raise ConfigError(f"profile option {name}= is named twice: leave one out")
        found[name] = unquote(value)
    return found


def _number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ConfigError(f"profile option {name}={text}: it must be a number") from None
