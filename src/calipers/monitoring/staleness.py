"""Compute how far the policies that made the rollouts lag behind the current one, where an engine states versions.

Staleness is the current version less the oldest version that wrote a part of the rollout, when the group was judged:
training may come later still.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from calipers.monitoring.correlations import Pairs, centred, correlation
from calipers.rewards.magnitude import exponent_of
from calipers.types import GroupResult, TrajectoryResult
from calipers.types.versions import CURRENT_VERSION, POLICY_VERSION, versions_in

STALE_AFTER: Final = 4
"""From how many versions behind a rollout counts as stale, exclusive, by default.

W. Fu et al., AReaL (arXiv 2505.24298), train with at most 4 in code, and at most 8 in mathematics.
"""


class NewestVersion:
    """Remembers the newest version of the policy that any rollout of a run showed: the current one is at least that."""

    def __init__(self) -> None:
        self._newest: int | None = None

    def dated(self, result: GroupResult) -> GroupResult:
        """Return the result of a judged group with the current version, as far as it is known by now.

        A version that the group states itself comes first. A group without versions stays as it is.
        """
        stated = versions_in(result.extra.get(CURRENT_VERSION))
        found = [version for versions in member_versions(result) for version in versions]
        if not found and not stated:
            return result
        known = [*found, *stated] if self._newest is None else [*found, *stated, self._newest]
        self._newest = max(known)
        return result if stated else replace(result, extra={**result.extra, CURRENT_VERSION: self._newest})


def staleness_metrics(results: Sequence[GroupResult], *, stale_after: int = STALE_AFTER) -> dict[str, float | None]:
    """Return the health metrics of versions and staleness; an empty dict if no rollout states its version."""
    newest = NewestVersion()
    dated = [newest.dated(result) for result in results]
    groups = [(result, member_versions(result)) for result in dated]
    made = [versions for _, members in groups for versions in members if versions]
    if not made:
        return {}
    lags = {number: _lags(result, members) for number, (result, members) in enumerate(groups)}
    known = [lag for own in lags.values() for lag in own if lag is not None]
    spreads = [spread for _, members in groups if (spread := _spread(members)) is not None]
    return {
        "policy_version": max(version for versions in made for version in versions),
        "version_known_rate": len(made) / sum(len(members) for _, members in groups),
        "staleness_mean": sum(known) / len(known),
        "staleness_max": max(known),
        "stale_rate": sum(lag > stale_after for lag in known) / len(known),
        "several_versions_rate": sum(len(set(versions)) > 1 for versions in made) / len(made),
        "version_spread_mean": sum(spreads) / len(spreads) if spreads else None,
        "mixed_group_rate": sum(spread > 0 for spread in spreads) / len(spreads) if spreads else None,
        **_with_rewards(dated, lags),
    }


def member_versions(result: GroupResult) -> list[tuple[int, ...]]:
    """Return the versions that made each trajectory of a judged group, in order; empty where none is known."""
    shared = versions_in(result.extra.get(POLICY_VERSION))
    return [_own_versions(one) or shared for one in result.trajectories]


def _own_versions(one: TrajectoryResult) -> tuple[int, ...]:
    metadata: Any = one.extra.get("metadata")
    return versions_in(one.extra.get(POLICY_VERSION)) or (
        versions_in(metadata.get(POLICY_VERSION)) if isinstance(metadata, Mapping) else ()
    )


def _lags(result: GroupResult, members: Sequence[tuple[int, ...]]) -> list[int | None]:
    """Return by how many versions each trajectory was behind; a version newer than the stated current one is current.

    An engine may update the policy while a group is judged.
    """
    current = versions_in(result.extra.get(CURRENT_VERSION))
    return [max(0, current[0] - min(versions)) if versions and current else None for versions in members]


def _spread(members: Sequence[tuple[int, ...]]) -> int | None:
    """Return how far apart the oldest versions of a group's trajectories are; None with fewer than two known."""
    oldest = [min(versions) for versions in members if versions]
    return max(oldest) - min(oldest) if len(oldest) > 1 else None


def _with_rewards(results: Sequence[GroupResult], lags: Mapping[int, Sequence[int | None]]) -> dict[str, float | None]:
    """Return correlations of the reward with staleness: within groups, and of the groups' means."""
    scale = -exponent_of([one.reward for result in results for one in result.trajectories if one.reward is not None])
    within: Pairs = []
    between: Pairs = []
    for number, result in enumerate(results):
        pairs = [
            (math.ldexp(one.reward, scale), float(lag))
            for one, lag in zip(result.trajectories, lags[number], strict=True)
            if one.reward is not None and lag is not None
        ]
        within += centred(pairs)
        if pairs:
            rewards, behind = zip(*pairs, strict=True)
            between.append((sum(rewards) / len(pairs), sum(behind) / len(pairs)))
    return {"staleness_correlation": correlation(within), "staleness_level_correlation": correlation(between)}
