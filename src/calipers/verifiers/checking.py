"""Verifiers over a whole group: gates first, then rules, those given as source text together.

Not responsible for what verdicts come to (``calipers.Hybrid``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from calipers.errors import ConfigError
from calipers.interfaces import Verifier
from calipers.types import Trajectory, TrajectoryGroup, Verdict
from calipers.verifiers.answer import NO_ANSWER, final_answer
from calipers.verifiers.rules import RuleFunction
from calipers.verifiers.sandbox import Job, Sandbox, shared_sandbox


@dataclass(frozen=True, slots=True)
class Checked:
    """A trajectory's verdicts, one a rule; and the first gate that it did not pass: not met, or not to be told."""

    rules: tuple[Verdict, ...]
    gate: Verdict | None = None


def check_group(
    group: TrajectoryGroup, *, gates: Sequence[Verifier] = (), rules: Sequence[Verifier] = ()
) -> list[Checked]:
    """What each trajectory's gates and rules say, in the group's order. Blocks; raises ConfigError only.

    A verifier sees the group's context before the trajectory's own messages. One that raises, or returns anything but a
    Verdict, is None with a reason. Where a gate cannot tell, rules are not asked.
    """
    whole = [replace(one, messages=(*group.context, *one.messages)) for one in group.trajectories]
    closed = [next((verdict for gate in gates if not (verdict := verdict_of(gate, one)).met), None) for one in whole]
    left = [place for place, gate in enumerate(closed) if gate is None or gate.met is False]
    columns = [dict(zip(left, _column(rule, [whole[place] for place in left]), strict=True)) for rule in rules]
    return [
        Checked(tuple(column[place] for column in columns if place in column), gate)
        for place, gate in enumerate(closed)
    ]


def verdict_of(verifier: Verifier, trajectory: Trajectory) -> Verdict:
    """What the verifier says, and None with a reason where it breaks."""
    try:
        verdict: object = verifier(trajectory)
    except ConfigError:
        raise  # not the trajectory's doing: it would be the same for every other
    except Exception as error:  # noqa: BLE001 - a verifier of the caller's own may fail in any way
        return Verdict(None, f"the check raised {type(error).__name__}: {error}")
    if not isinstance(verdict, Verdict) or verdict.met not in (True, False, None):
        return Verdict(None, f"the check returned {type(verdict).__name__}, not a Verdict")
    return verdict


def _column(rule: Verifier, trajectories: Sequence[Trajectory]) -> list[Verdict]:
    """One rule on every trajectory."""
    if not isinstance(rule, RuleFunction):
        return [verdict_of(rule, trajectory) for trajectory in trajectories]
    answers = [final_answer(trajectory) for trajectory in trajectories]
    sandbox: Sandbox = rule.sandbox or shared_sandbox()
    jobs: list[Job] = [rule.job(answer) for answer in answers if answer is not None]
    outcomes = iter(sandbox.run(jobs))
    return [Verdict(None, NO_ANSWER) if answer is None else rule.verdict(next(outcomes)) for answer in answers]
