"""The versions of the policy that made a rollout, as trainers state them: numbers that grow with each new version."""

from __future__ import annotations

import operator
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
    found = [_version(part) for part in (value if isinstance(value, list | tuple) else (value,))]
    return () if None in found else tuple(number for number in found if number is not None)


def version_fields(*values: Any) -> dict[str, Any]:
    """Return the metadata of a rollout that the versions ``values`` made, in order; empty if any of them is unknown.

    Repetitions are left out. A rollout of one version has its number, another a list.
    """
    found = [version for value in values for version in versions_in(value) or (-1,)]
    distinct = [one for number, one in enumerate(found) if number == 0 or one != found[number - 1]]
    if not distinct or -1 in distinct:
        return {}
    return {POLICY_VERSION: distinct[0] if len(distinct) == 1 else distinct}


def _version(value: Any) -> int | None:
    if isinstance(value, str):
        value = int(value) if value.isascii() and value.isdigit() and len(value) < 16 else None
    if isinstance(value, bool):
        return None
    try:
        number = operator.index(value)
    except TypeError:
        return None
    return number if 0 <= number < 1 << 53 else None
