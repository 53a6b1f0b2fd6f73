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
    Trajectory,
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


def without_empty(group: TrajectoryGroup) -> TrajectoryGroup:
    """Remove the trajectories that have no message, such as a rollout that crashed."""
    return replace(group, trajectories=tuple(trajectory for trajectory in group.trajectories if trajectory.messages))


def restore_empty(result: GroupResult, group: TrajectoryGroup) -> GroupResult:
    """Restore the trajectories without messages in its result, as failed and in place."""
    judged = {trajectory.id: trajectory for trajectory in result.trajectories}
    reason = "it has no messages: there is nothing of it to judge"
    trajectories = tuple(
        judged.get(trajectory.id)
        or TrajectoryResult(trajectory.id, "failed", reason=reason, extra=keys_carried_over(trajectory))
        for trajectory in group.trajectories
    )
    return replace(result, status=group_status(trajectories), trajectories=trajectories)


def attacks_by_id(view: RenderedGroup, found: Mapping[int, tuple[Attack, ...]]) -> Attacks:
    """Return the attacks by trajectory instead of by candidate; identical trajectories share theirs."""
    return {view.ids[member]: hits for item, hits in found.items() for member in view.candidates[item].members}


def without_attackers(group: TrajectoryGroup, attacks: Attacks, rule: OnAttack) -> TrajectoryGroup:
    """Remove the trajectories that ``rule`` excludes, so that no score depends on them."""
    if not any(_is_excluded(hits, rule) for hits in attacks.values()):
        return group
    rest = tuple(
        trajectory for trajectory in group.trajectories if not _is_excluded(attacks.get(trajectory.id, ()), rule)
    )
    return replace(group, trajectories=rest)


def restore_attackers(
    result: GroupResult, group: TrajectoryGroup, attacks: Attacks, *, rule: OnAttack, floor: float
) -> GroupResult:
    """Add every attack on the judge to its trajectory in the ``result``, and to the warnings.

    Trajectories that ``without_attackers`` removed are restored in their positions. Under "quarantine" they are
    abstained; under "floor" they have the reward ``floor`` and no score.
    """
    judged = {trajectory.id: trajectory for trajectory in result.trajectories}
    trajectories = tuple(
        replace(judged[trajectory.id], attacks=attacks.get(trajectory.id, ()))
        if trajectory.id in judged
        else _excluded(trajectory, attacks[trajectory.id], rule=rule, floor=floor)
        for trajectory in group.trajectories
    )
    wordings = list(_WORDING)
    notes = []
    for name, hits in attacks.items():
        certainty = min((hit.certainty for hit in hits), key=wordings.index)
        notes.append(f"trajectory {name!r} {_WORDING[certainty]}: {_attack_positions(hits)}")
    status = group_status(trajectories)
    return replace(result, status=status, trajectories=trajectories, warnings=(*result.warnings, *notes))


def _is_excluded(hits: Sequence[Attack], rule: OnAttack) -> bool:
    # A tool or a user may have written the text, for which the policy is not responsible: no floor then.
    certain = [hit for hit in hits if hit.certainty == "certain" and (rule != "floor" or hit.role == POLICY)]
    return rule != "report" and bool(certain)


def _excluded(trajectory: Trajectory, hits: Sequence[Attack], *, rule: OnAttack, floor: float) -> TrajectoryResult:
    why = f"it addresses the judge ({_attack_positions(hits)})"
    extra = keys_carried_over(trajectory)
    if rule == "floor":
        explanation = f"by the rule on_attack='floor', not by a judge: {why}"
        return TrajectoryResult(
            trajectory.id, "scored", floor, explanation=explanation, extra=extra, attacks=tuple(hits)
        )
    return TrajectoryResult(trajectory.id, "abstained", reason=f"quarantined: {why}", extra=extra, attacks=tuple(hits))


def _attack_positions(hits: Sequence[Attack]) -> str:
    """Say in which messages each kind of attack is; a warning must not quote the text of an attack."""
    places: dict[str, list[str]] = {}
    for hit in hits:
        places.setdefault(hit.kind.replace("_", " "), []).append(f"{hit.message} ({hit.role})")
    return "; ".join(f"{kind} in message {', '.join(where)}" for kind, where in places.items())
