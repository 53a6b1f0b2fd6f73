"""Hides trajectories from the judge: those without messages and, if the user says so, those with prompt injections.

They are removed before the judge is asked, and restored in the result afterwards. Only an attack that is certain
excludes a trajectory; other attacks are only reported. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, TypeAlias

from calipers.judging.results import group_status, keys_carried_over
from calipers.types import (
    Attack,
    Certainty,
    GroupResult,
    OnAttack,
    RenderedGroup,
    TrajectoryGroup,
    TrajectoryResult,
)

Attacks: TypeAlias = Mapping[str, tuple[Attack, ...]]
"""The attacks on the judge in each trajectory that has any, by the trajectory's id."""

_WORDING: Final[Mapping[Certainty, str]] = {
    "certain": "addresses the judge",
    "likely": "seems to address the judge",
    "suspicious": "may address the judge",
}
"""The wording of a warning about a trajectory, by the certainty of its most certain attack."""

POLICY: Final = "assistant"
"""The role whose messages the policy under training writes."""


def results_of_empty(group: TrajectoryGroup) -> dict[str, TrajectoryResult]:
    """Return the results of the trajectories that have no message, such as a rollout that crashed, by id."""
    reason = "it has no messages: there is nothing of it to judge"
    return {
        trajectory.id: TrajectoryResult(trajectory.id, "failed", reason=reason, extra=keys_carried_over(trajectory))
        for trajectory in group.trajectories
        if not trajectory.messages
    }


def attacks_by_id(view: RenderedGroup, found: Mapping[int, tuple[Attack, ...]]) -> Attacks:
    """Return the attacks by trajectory instead of by candidate; identical trajectories share theirs."""
    return {view.ids[member]: hits for item, hits in found.items() for member in view.candidates[item].members}


def results_of_attackers(
    group: TrajectoryGroup, attacks: Attacks, *, rule: OnAttack, floor: float
) -> dict[str, TrajectoryResult]:
    """Return the results of the trajectories that ``rule`` excludes, by id.

    Under "quarantine" they are abstained; under "floor" they have the reward ``floor`` and no score.
    """
    results = {}
    for trajectory in group.trajectories:
        hits = attacks.get(trajectory.id, ())
        # A tool or a user may have written the text, for which the policy is not responsible: no floor then.
        certain = [hit for hit in hits if hit.certainty == "certain" and (rule != "floor" or hit.role == POLICY)]
        if not certain or rule == "report":
            continue
        name, why, extra = (
            trajectory.id,
            f"it addresses the judge ({_attack_positions(hits)})",
            keys_carried_over(trajectory),
        )
        results[name] = (
            TrajectoryResult(
                name, "scored", floor, explanation=f"by the rule on_attack='floor', not by a judge: {why}", extra=extra
            )
            if rule == "floor"
            else TrajectoryResult(name, "abstained", reason=f"quarantined: {why}", extra=extra)
        )
    return results


def without(group: TrajectoryGroup, excluded: Mapping[str, TrajectoryResult]) -> TrajectoryGroup:
    """Remove the ``excluded`` trajectories, so that no score depends on them."""
    rest = tuple(trajectory for trajectory in group.trajectories if trajectory.id not in excluded)
    return replace(group, trajectories=rest)


def restored(
    result: GroupResult, group: TrajectoryGroup, excluded: Mapping[str, TrajectoryResult], attacks: Attacks
) -> GroupResult:
    """Put the ``excluded`` trajectories back in place, and add every attack to its trajectory and to the warnings."""
    by_id = {**{trajectory.id: trajectory for trajectory in result.trajectories}, **excluded}
    trajectories = tuple(
        replace(by_id[trajectory.id], attacks=attacks.get(trajectory.id, ())) for trajectory in group.trajectories
    )
    wordings = list(_WORDING)
    notes = []
    for name, hits in attacks.items():
        certainty = min((hit.certainty for hit in hits), key=wordings.index)
        notes.append(f"trajectory {name!r} {_WORDING[certainty]}: {_attack_positions(hits)}")
    status = group_status(trajectories)
    return replace(result, status=status, trajectories=trajectories, warnings=(*result.warnings, *notes))


def _attack_positions(hits: Sequence[Attack]) -> str:
    """Say in which messages each kind of attack is; a warning must not quote the text of an attack."""
    places: dict[str, list[str]] = {}
    for hit in hits:
        places.setdefault(hit.kind.replace("_", " "), []).append(f"{hit.message} ({hit.role})")
    return "; ".join(f"{kind} in message {', '.join(where)}" for kind, where in places.items())
