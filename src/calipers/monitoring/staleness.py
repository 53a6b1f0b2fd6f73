"""Compute how far the policies that made the rollouts lag behind the current one, where an engine states versions.

Staleness is the current version less the oldest version that wrote a part of the rollout, when the group was judged:
training may come later still.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from calipers.types import GroupResult, TrajectoryResult
from calipers.types.versions import CURRENT_VERSION, POLICY_VERSION, versions_in

STALE_AFTER: Final = 4
"""From how many versions behind a rollout counts as stale, exclusive.

W. Fu et al., AReaL (arXiv 2505.24298), train with at most 4 in code, and at most 8 in mathematics.
"""


class NewestVersion:
    """Remembers the newest version of the policy that any rollout of a run showed: the current one is at least that."""

    def __init__(self) -> None:
        self._newest = 0

    def dated(self, result: GroupResult) -> GroupResult:
        """Return the result of a judged group with the current version, as far as it is known by now.

        A version that the group states itself comes first. A group without versions stays as it is.
        """
        stated = versions_in(result.extra.get(CURRENT_VERSION))
        of_members = [version for versions in _member_versions(result) for version in versions]
        if not of_members and not stated:
            return result
        self._newest = max(*of_members, *stated, self._newest)
        return result if stated else replace(result, extra={**result.extra, CURRENT_VERSION: self._newest})


def staleness_metrics(results: Sequence[GroupResult]) -> dict[str, float | None]:
    """Return the health metrics of versions and staleness; None where no rollout states its version."""
    newest = NewestVersion()
    groups = [(result, _member_versions(result)) for result in map(newest.dated, results)]
    dated = [versions for _, members in groups for versions in members if versions]
    lags = [
        # A version newer than the stated current one is current: an engine may update the policy while a group waits.
        max(0, current[0] - min(versions))
        for result, members in groups
        if (current := versions_in(result.extra.get(CURRENT_VERSION)))
        for versions in members
        if versions
    ]
    return {
        "policy_version": max((version for versions in dated for version in versions), default=None),
        "version_known_rate": len(dated) / sum(len(members) for _, members in groups) if dated else None,
        "staleness_mean": sum(lags) / len(lags) if lags else None,
        "staleness_max": max(lags, default=None),
        "stale_rate": sum(lag > STALE_AFTER for lag in lags) / len(lags) if lags else None,
    }


def _member_versions(result: GroupResult) -> list[tuple[int, ...]]:
    """Return the versions that made each trajectory of a judged group, in order; empty where none is known."""
    shared = versions_in(result.extra.get(POLICY_VERSION))
    return [_own_versions(trajectory) or shared for trajectory in result.trajectories]


def _own_versions(one: TrajectoryResult) -> tuple[int, ...]:
    metadata: Any = one.extra.get("metadata")
    in_metadata = metadata.get(POLICY_VERSION) if isinstance(metadata, Mapping) else None
    return versions_in(one.extra.get(POLICY_VERSION)) or versions_in(in_metadata)
