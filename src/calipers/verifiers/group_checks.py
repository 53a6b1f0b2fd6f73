"""Run verifiers on the trajectories of a group, gates before rules.

``calipers.Hybrid`` and ``rubric_rules`` turn the verdicts into scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import repeat

from calipers.errors import ConfigError
from calipers.interfaces import Verifier
from calipers.types import Trajectory, TrajectoryGroup, Verdict
from calipers.verifiers.answer import NO_ANSWER, final_answer
from calipers.verifiers.rules import RuleFunction, check_rules


@dataclass(frozen=True, slots=True)
class TrajectoryVerdicts:
    """The verdicts on one trajectory: one for each rule in ``rules``, and in ``gate`` the verdict of the first failed
    gate.

    ``gate`` is None if the trajectory passed every gate. The ``met`` of a failed gate is False or None, never True.
    """

    rules: tuple[Verdict, ...]
    gate: Verdict | None = None


def check_group(
    group: TrajectoryGroup, *, gates: Sequence[Verifier] = (), rules: Sequence[Verifier] = ()
) -> list[TrajectoryVerdicts]:
    """Return verifiers' verdicts, of gates and rules, on each trajectory, in the group's order.

    Blocks; raises ConfigError only.

    A verifier sees the group's context before the trajectory's own messages. If it raises, or returns anything but a
    Verdict, the verdict is None with a reason. Rules are not checked if a gate's verdict is None.
    """
    whole = [replace(one, messages=(*group.context, *one.messages)) for one in group.trajectories]
    closed = [next((verdict for gate in gates if not (verdict := run_verifier(gate, one)).met), None) for one in whole]
    left = [one for one, gate in zip(whole, closed, strict=True) if gate is None or gate.met is False]
    columns = [_check(rule, left) for rule in rules]
    verdicts = iter(zip(*columns, strict=True) if rules else repeat(()))
    return [
        TrajectoryVerdicts(() if gate is not None and gate.met is None else next(verdicts), gate) for gate in closed
    ]


def run_verifier(verifier: Verifier, trajectory: Trajectory) -> Verdict:
    """Return a verifier's verdict on a trajectory. If the verifier raises, the verdict is None with a reason."""
    try:
        verdict: object = verifier(trajectory)
    except ConfigError:
        raise  # a faulty configuration fails for every trajectory
    except Exception as error:  # noqa: BLE001 - a verifier of the caller's own may fail in any way
        return Verdict(None, f"the check raised {type(error).__name__}: {error}")
    if not isinstance(verdict, Verdict) or verdict.met not in (True, False, None):
        return Verdict(None, f"the check returned {type(verdict).__name__}, not a Verdict")
    return verdict


def _check(rule: Verifier, trajectories: Sequence[Trajectory]) -> list[Verdict]:
    """Return a rule's verdict on each trajectory. A rule given as source text runs on all of them in
    one sandbox call.
    """
    if not isinstance(rule, RuleFunction):
        return [run_verifier(rule, trajectory) for trajectory in trajectories]
    answers = [final_answer(trajectory) for trajectory in trajectories]
    found = iter(check_rules([(rule, answer) for answer in answers if answer is not None], sandbox=rule.sandbox))
    return [Verdict(None, NO_ANSWER) if answer is None else next(found) for answer in answers]
