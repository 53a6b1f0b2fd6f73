"""A judge's profile, fitted from its recorded answers.

Not responsible for reading files (``sources``), or for answering as the judge would (``judge``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from calipers._version import __version__
from calipers.calibration.arrays import Array
from calipers.calibration.records import Key, Record
from calipers.calibration.series import Frame
from calipers.errors import InputError
from calipers.study.profiles.agreement import agreement, failures
from calipers.study.profiles.answers import Answers, tabulate
from calipers.study.profiles.features import measure_features
from calipers.study.profiles.latent import solve_latent
from calipers.study.profiles.positions import position_curve
from calipers.study.profiles.preferences import preferences
from calipers.study.profiles.profile import Profile, Provenance, SourceFile, Subject
from calipers.study.profiles.repeats import repeatability
from calipers.study.profiles.scale_use import scale_use


def fit_profile(
    records: Sequence[Record],
    frame: Frame,
    key: Key,
    *,
    name: str | None = None,
    sources: Sequence[SourceFile] = (),
    note: str = "",
    today: str | None = None,
) -> Profile:
    """Return the profile of the judge and kind of question ``key``, which can answer as the judge would.

    It is fitted to ``records`` about the groups of ``frame``. Records at other temperatures of the same kind of
    question show the effect of temperature. ``name`` is by default the judge's name, and ``today`` the date (ISO 8601).
    Raises InputError if nothing was answered about the groups.
    """
    profile, table, features = _measured(records, frame, key, name, sources, note, today)
    return replace(profile, latent=solve_latent(profile, table, features))


def measure_profile(records: Sequence[Record], frame: Frame, key: Key) -> Profile:
    """Return, as ``fit_profile``, the profile of ``key`` without what it takes to answer as the judge would.

    This takes milliseconds instead of seconds. Raises InputError if nothing was answered about the groups.
    """
    profile, _, _ = _measured(records, frame, key, None, (), "", None)
    return profile


def _measured(
    records: Sequence[Record],
    frame: Frame,
    key: Key,
    name: str | None,
    sources: Sequence[SourceFile],
    note: str,
    today: str | None,
) -> tuple[Profile, Answers, Mapping[str, Array]]:
    """Return a profile without its latent numbers, and the answers and features that it rests on."""
    own = [one for one in records if one.key == key]
    if not own:
        raise InputError(f"no answer is of {key.judge!r}")
    table = tabulate(own, frame)
    features = measure_features(frame, key.judge)
    position, placed = position_curve(table)
    preferred, injection = preferences(table, placed, features)
    profile = Profile(
        name or key.judge,
        Subject(key.judge, key.mode, key.prompt_variant, key.temperature, key.criterion),
        Provenance(
            tuple(sources),
            today or datetime.now(UTC).date().isoformat(),
            __version__,
            table.groups,
            table.records,
            table.scale,
            table.gold_range,
            note,
            table.off_scale,
            table.scales,
        ),
        scale_use(table),
        repeatability(table, placed, _other_temperatures(records, frame, key)),
        position,
        preferred,
        injection,
        failures(table, features),
        agreement(table, placed),
    )
    return profile, table, features


def _other_temperatures(records: Sequence[Record], frame: Frame, key: Key) -> list[Answers]:
    """Return the judge's answers at other temperatures to questions that are otherwise the same."""
    if key.temperature is None:
        return []
    alike = {one.key for one in records if replace(one.key, temperature=key.temperature) == key} - {key}
    by_key = {other: [one for one in records if one.key == other] for other in alike if other.temperature is not None}
    return [tabulate(own, frame) for own in by_key.values()]
