"""The versions of the policy that made a rollout, as trainers state them: numbers that grow with each new version."""

from __future__ import annotations

from itertools import groupby
from numbers import Integral
from typing import Any, Final

POLICY_VERSION: Final = "policy_version"
"""The key of a trajectory, of its metadata, or of a group for all of its trajectories: a version, or a list of the
versions of a rollout's parts."""

CURRENT_VERSION: Final = "current_version"
"""The key of a group: the version that the policy had reached when the group was judged."""


def versions_in(value: Any) -> tuple[int, ...]:
    """Return the versions that ``value`` states: a whole number from 0 up, its digits as text, or a list of those.

    Empty if there is none, or if anything in it is something else: a version is never guessed.
    """
    versions = []
    for stated in value if isinstance(value, list | tuple) else (value,):
        version = int(stated) if isinstance(stated, str) and stated.isascii() and stated.isdigit() else stated
        if isinstance(version, bool) or not isinstance(version, Integral) or not 0 <= int(version) < 1 << 53:
            return ()
        versions.append(int(version))
    return tuple(versions)


def version_fields(*values: Any) -> dict[str, Any]:
    """Return the metadata of a rollout that the versions ``values`` made, in order; empty if any of them is unknown.

    Repetitions are left out. A rollout of one version has its number, another a list.
    """
    stated = [versions_in(value) for value in values]
    distinct = [version for version, _ in groupby(version for versions in stated for version in versions)]
    if not distinct or not all(stated):
        return {}
    return {POLICY_VERSION: distinct[0] if len(distinct) == 1 else distinct}
