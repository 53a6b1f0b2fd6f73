"""Verifiers over a whole group: gates first, then rules; or over one trajectory, in a thread.

Not responsible for what verdicts amount to (``calipers.Hybrid``, ``criteria``).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import repeat
from typing import Final

from calipers.errors import ConfigError
from calipers.interfaces import Verifier
from calipers.types import Trajectory, TrajectoryGroup, Verdict
from calipers.verifiers.answer import NO_ANSWER, final_answer
from calipers.verifiers.rules import RuleFunction, check_rules

_THREADS: Final = 4
"""Rules given as source text are run by one sandbox, which serves one caller at a time."""


@dataclass(frozen=True, slots=True)
class Checked:
    """A trajectory's verdicts, one for each rule; and the verdict of the first gate it did not pass: False or None."""

    rules: tuple[Verdict, ...]
    gate: Verdict | None = None


@dataclass(frozen=True, slots=True)
class StartedChecks:
    """The checks of one trajectory, running or done."""

    gates: tuple[Verifier, ...]
    rules: tuple[Verifier, ...]
    result: Future[Checked]


def start_checks(
    group: TrajectoryGroup, *, gates: Sequence[Verifier] = (), rules: Sequence[Verifier] = ()
) -> StartedChecks:
    """``check_group`` of the one trajectory in ``group``, started in a thread. An error is raised by the result."""
    future = _threads(os.getpid()).submit(lambda: check_group(group, gates=gates, rules=rules)[0])
    return StartedChecks(tuple(gates), tuple(rules), future)


@lru_cache(maxsize=1)
def _threads(_: int) -> ThreadPoolExecutor:
    """A process's own threads: a forked process does not inherit any."""
    return ThreadPoolExecutor(_THREADS, thread_name_prefix="calipers-rules")


def check_group(
    group: TrajectoryGroup, *, gates: Sequence[Verifier] = (), rules: Sequence[Verifier] = ()
) -> list[Checked]:
    """The verdicts on each trajectory, in the group's order. Blocks; raises ConfigError only.

    A verifier sees the group's context before the trajectory's own messages. If it raises, or returns anything but a
    Verdict, the verdict is None with a reason. Rules are not checked if a gate's verdict is None.
    """
    whole = [replace(one, messages=(*group.context, *one.messages)) for one in group.trajectories]
    closed = [next((verdict for gate in gates if not (verdict := verdict_of(gate, one)).met), None) for one in whole]
    left = [one for one, gate in zip(whole, closed, strict=True) if gate is None or gate.met is False]
    columns = [_check(rule, left) for rule in rules]
    verdicts = iter(zip(*columns, strict=True) if rules else repeat(()))
    return [Checked(() if gate is not None and gate.met is None else next(verdicts), gate) for gate in closed]


def verdict_of(verifier: Verifier, trajectory: Trajectory) -> Verdict:
    """The verifier's verdict; None with a reason if it breaks."""
    try:
        verdict: object = verifier(trajectory)
    except ConfigError:
        raise  # not the trajectory's fault: it would be the same for every other
    except Exception as error:  # noqa: BLE001 - a verifier of the caller's own may fail in any way
        return Verdict(None, f"the check raised {type(error).__name__}: {error}")
    if not isinstance(verdict, Verdict) or verdict.met not in (True, False, None):
        return Verdict(None, f"the check returned {type(verdict).__name__}, not a Verdict")
    return verdict


def _check(rule: Verifier, trajectories: Sequence[Trajectory]) -> list[Verdict]:
    """One rule on every trajectory; a rule given as source text runs on all of them at once."""
    if not isinstance(rule, RuleFunction):
        return [verdict_of(rule, trajectory) for trajectory in trajectories]
    answers = [final_answer(trajectory) for trajectory in trajectories]
    found = iter(check_rules([(rule, answer) for answer in answers if answer is not None], sandbox=rule.sandbox))
    return [Verdict(None, NO_ANSWER) if answer is None else next(found) for answer in answers]
