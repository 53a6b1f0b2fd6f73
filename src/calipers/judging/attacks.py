"""What becomes of trajectories that address their judge: reported, kept from the judge, or floored by the user's rule.

Only what is certain has consequences: the rest is reported. Pure. Not responsible for finding attacks (``probes.injection``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, TypeAlias

from calipers.guard.injection import attacks_in
from calipers.judging.results import carried, group_status
from calipers.types import (
    Attack,
    Candidate,
    Certainty,
    GroupResult,
    OnAttack,
    RenderedGroup,
    Trajectory,
    TrajectoryGroup,
    TrajectoryResult,
)

Attacks: TypeAlias = Mapping[str, tuple[Attack, ...]]
"""What was found in each trajectory that has any, by its id."""

_SAID: Final[Mapping[Certainty, str]] = {
    "certain": "addresses the judge",
    "likely": "seems to address the judge",
    "suspicious": "may address the judge",
}
"""What a warning says of the most certain of a trajectory's attacks."""

POLICY = "assistant"
"""The role whose messages the policy under training writes."""


def find_attacks_of(group: TrajectoryGroup, view: RenderedGroup) -> Attacks:
    """What in each trajectory of ``group`` addresses the judge; identical trajectories share it."""
    context = len(group.context)
    found = attacks_in(view, context=context, prepared=[_prepared(group, one, context) for one in view.candidates])
    return {view.ids[member]: hits for item, hits in found.items() for member in view.candidates[item].members}


def _prepared(group: TrajectoryGroup, candidate: Candidate, context: int) -> tuple[Attack, ...] | None:
    """What was found in it before its group was whole; None where it was not looked at, or is shown otherwise now."""
    prepared = group.trajectories[candidate.members[0]].prepared
    if prepared is None or candidate.messages[context:] != prepared.transcript.messages:
        return None
    return prepared.attacks


def without_attackers(group: TrajectoryGroup, attacks: Attacks, rule: OnAttack) -> TrajectoryGroup:
    """The group as the judge is to see it: attackers are kept from it where ``rule`` decides about them anyway.

    So they neither earn a score nor move anybody else's.
    """
    if not any(_is_ruled(hits, rule) for hits in attacks.values()):
        return group
    kept = tuple(one for one in group.trajectories if not _is_ruled(attacks.get(one.id, ()), rule))
    return replace(group, trajectories=kept)


def with_attackers(
    result: GroupResult, group: TrajectoryGroup, attacks: Attacks, *, rule: OnAttack, floor: float
) -> GroupResult:
    """``result`` with every attack told: on its trajectory, and in a warning that names it.

    Trajectories that ``without_attackers`` took out are back in the places they have in ``group``: abstained under
    "quarantine", and with the reward ``floor`` and no score under "floor".
    """
    if not attacks:
        return result
    judged = {one.id: one for one in result.trajectories}
    trajectories = tuple(
        replace(judged[one.id], attacks=attacks.get(one.id, ()))
        if one.id in judged
        else _ruled(one, attacks[one.id], rule=rule, floor=floor)
        for one in group.trajectories
    )
    warnings = tuple(f"trajectory {name!r} {_SAID[_highest(hits)]}: {_told(hits)}" for name, hits in attacks.items())
    status = group_status(trajectories)
    return replace(result, status=status, trajectories=trajectories, warnings=(*result.warnings, *warnings))


def _is_ruled(hits: Sequence[Attack], rule: OnAttack) -> bool:
    match rule:
        case "report":
            return False
        case "quarantine":
            return any(hit.certainty == "certain" for hit in hits)
        case "floor":  # what a tool or a user wrote is not the policy's doing
            return any(hit.certainty == "certain" and hit.role == POLICY for hit in hits)


def _highest(hits: Sequence[Attack]) -> Certainty:
    """The most certain grade among ``hits``."""
    return min((hit.certainty for hit in hits), key=tuple(_SAID).index)


def _ruled(trajectory: Trajectory, hits: Sequence[Attack], *, rule: OnAttack, floor: float) -> TrajectoryResult:
    why = f"it addresses the judge ({_told(hits)})"
    extra = carried(trajectory)
    if rule == "floor":
        explanation = f"by the rule on_attack='floor', not by a judge: {why}"
        return TrajectoryResult(
            trajectory.id, "scored", floor, explanation=explanation, extra=extra, attacks=tuple(hits)
        )
    return TrajectoryResult(trajectory.id, "abstained", reason=f"quarantined: {why}", extra=extra, attacks=tuple(hits))


def _told(hits: Sequence[Attack]) -> str:
    """Which kinds, and where; not what it says, which is for those who look at the trajectory."""
    places: dict[str, list[str]] = {}
    for hit in hits:
        places.setdefault(hit.kind.replace("_", " "), []).append(f"{hit.message} ({hit.role})")
    return "; ".join(f"{kind} in message {', '.join(where)}" for kind, where in places.items())
