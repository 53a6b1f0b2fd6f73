"""Hides trajectories from the judge: those without messages and, if the user says so, those with prompt injections.

They are removed before the judge is asked, and restored in the result afterwards. Only an attack that is certain
excludes a trajectory; other attacks are only reported. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, TypeAlias

from calipers.config.settings import Settings
from calipers.guard.injection import attacks_in_steps
from calipers.judging.results import group_status, keys_carried_over
from calipers.render import render_in_steps
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
from calipers.types.steps import Steps, run_steps

Attacks: TypeAlias = Mapping[str, tuple[Attack, ...]]
"""The attacks on the judge in each trajectory that has any, by the trajectory's id."""

_WORDING: Final[Mapping[Certainty, str]] = {
    "certain": "addresses the judge",
    "likely": "seems to address the judge",
    "suspicious": "may address the judge",
}
"""The wording of a warning about a trajectory, by the certainty of its most certain attack."""

POLICY = "assistant"
"""The role whose messages the policy under training writes."""

_EMPTY = "it has no messages: there is nothing of it to judge"


def without_empty(group: TrajectoryGroup) -> TrajectoryGroup:
    """Before judging a group, remove the trajectories that have no message, such as a rollout that crashed."""
    if all(trajectory.messages for trajectory in group.trajectories):
        return group
    return replace(group, trajectories=tuple(one for one in group.trajectories if one.messages))


def restore_empty(result: GroupResult, group: TrajectoryGroup) -> GroupResult:
    """After judging a group, restore the trajectories without messages in its result, as failed and in place."""
    if len(result.trajectories) == len(group.trajectories):
        return result
    judged = {one.id: one for one in result.trajectories}
    trajectories = tuple(
        judged.get(one.id) or TrajectoryResult(one.id, "failed", reason=_EMPTY, extra=keys_carried_over(one))
        for one in group.trajectories
    )
    return replace(result, status=group_status(trajectories), trajectories=trajectories)


def rendered_in_steps(group: TrajectoryGroup, settings: Settings) -> Steps[RenderedGroup]:
    """Render what the judge sees of a group before judging it, in steps."""
    graded = settings.grading is not None
    return render_in_steps(
        group,
        rubric=settings.rubric,
        reasoning=settings.question.reasoning,
        graded=graded,
        artifacts=bool(settings.tools.names),
    )


def find_attacks_in_group(group: TrajectoryGroup, view: RenderedGroup) -> Attacks:
    """Before judging a group, return the attacks on the judge in each trajectory.

    Identical trajectories share theirs.
    """
    return run_steps(attacks_in_group_in_steps(group, view))


def attacks_in_group_in_steps(group: TrajectoryGroup, view: RenderedGroup) -> Steps[Attacks]:
    """Before judging a group, return the attacks on the judge as ``find_attacks_in_group`` does, in steps."""
    context = len(group.context)
    found = yield from attacks_in_steps(
        view, context=context, prepared=[_prepared_attacks(group, one, context) for one in view.candidates]
    )
    return {view.ids[member]: hits for item, hits in found.items() for member in view.candidates[item].members}


def _prepared_attacks(group: TrajectoryGroup, candidate: Candidate, context: int) -> tuple[Attack, ...] | None:
    """Return the attacks that were found in a candidate before its group was complete; None if no search was made."""
    prepared = group.trajectories[candidate.members[0]].prepared
    if prepared is None or candidate.messages[context:] != prepared.transcript.messages:
        return None
    return prepared.attacks


def without_attackers(group: TrajectoryGroup, attacks: Attacks, rule: OnAttack) -> TrajectoryGroup:
    """Before judging a group, remove the trajectories that ``rule`` excludes, so that no score depends on them."""
    if not any(_is_excluded(hits, rule) for hits in attacks.values()):
        return group
    rest = tuple(one for one in group.trajectories if not _is_excluded(attacks.get(one.id, ()), rule))
    return replace(group, trajectories=rest)


def restore_attackers(
    result: GroupResult, group: TrajectoryGroup, attacks: Attacks, *, rule: OnAttack, floor: float
) -> GroupResult:
    """After judging a group, add every attack on the judge to its trajectory in the ``result``, and to the warnings.

    Trajectories that ``without_attackers`` removed are restored in their positions. Under "quarantine" they are
    abstained; under "floor" they have the reward ``floor`` and no score.
    """
    if not attacks:
        return result
    judged = {one.id: one for one in result.trajectories}
    trajectories = tuple(
        replace(judged[one.id], attacks=attacks.get(one.id, ()))
        if one.id in judged
        else _excluded(one, attacks[one.id], rule=rule, floor=floor)
        for one in group.trajectories
    )
    warnings = tuple(
        f"trajectory {name!r} {_WORDING[_most_certain(hits)]}: {_attack_positions(hits)}"
        for name, hits in attacks.items()
    )
    status = group_status(trajectories)
    return replace(result, status=status, trajectories=trajectories, warnings=(*result.warnings, *warnings))


def _is_excluded(hits: Sequence[Attack], rule: OnAttack) -> bool:
    match rule:
        case "report":
            return False
        case "quarantine":
            return any(hit.certainty == "certain" for hit in hits)
        case "floor":  # a tool or a user may have written the text, for which the policy is not responsible
            return any(hit.certainty == "certain" and hit.role == POLICY for hit in hits)


def _most_certain(hits: Sequence[Attack]) -> Certainty:
    return min((hit.certainty for hit in hits), key=tuple(_WORDING).index)


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
