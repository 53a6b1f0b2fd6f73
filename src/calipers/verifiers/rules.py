"""Rules given as Python source text (VerInstruct's and VerIF's form), and the checks of a whole group.

The source may come from a stranger's file, and the response comes from the policy. Both run in the sandbox, never in
this process. Only True and False are verdicts, unless ``truthy`` is set, as in VerIF.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import repeat

from calipers.errors import ConfigError, InputError
from calipers.interfaces import Verifier
from calipers.types import Trajectory, TrajectoryGroup, Verdict
from calipers.verifiers.answer import NO_ANSWER, AnswerVerifier, final_answer
from calipers.verifiers.sandbox import Job, Outcome, Sandbox, shared_sandbox


@dataclass(frozen=True, slots=True)
class RuleFunction(AnswerVerifier):
    """A verifier whose ``source`` defines ``function``, which returns whether the response follows the rule.

    The function takes the response, or the ``instruction`` and the response. The verdict is None, with a reason, for a
    rule that raises, does not end, imports or opens something that the sandbox does not offer, or returns anything but
    True or False. With ``truthy`` Python's truth value of the result counts: a match object, 2 and a list with items
    are True, None is False. Reasons call the rule ``name``. Raises InputError if ``source`` does not contain
    ``function``.
    """

    source: str
    function: str = "check_following"
    instruction: str = ""
    name: str = ""
    truthy: bool = False
    sandbox: Sandbox | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.source, str) or self.function not in self.source:
            raise InputError(f"a rule's source must be text that defines {self.function}")

    def check(self, answer: str) -> Verdict:
        return check_rules([(self, answer)], sandbox=self.sandbox)[0]

    def verdict(self, outcome: Outcome) -> Verdict:
        """Return the rule's verdict on a response from the ``outcome`` of its sandbox job."""
        met: bool | None = None
        match outcome.values:
            case _ if outcome.failure is not None:
                reason = outcome.reason
            case (bool(met),):
                reason = "not followed"
            case (other,):
                reason = f"it returned {str(other)[:60]!r} ({type(other).__name__}), not True or False"
            case _:
                reason = "it gave no answer"
        return Verdict(met, "" if met else f"{self.name or self.function}: {reason}", criterion=self.name or None)


def check_rules(checks: Sequence[tuple[RuleFunction, str]], *, sandbox: Sandbox | None = None) -> list[Verdict]:
    """Return the verdicts of rules given as source text on responses, in order. The sandbox runs
    several rules at a time.
    """
    jobs = [
        Job(rule.source, rule.function, ((rule.instruction, response),), fit=True, truthy=rule.truthy)
        for rule, response in checks
    ]
    outcomes = (sandbox or shared_sandbox()).run(jobs)
    return [rule.verdict(outcome) for (rule, _), outcome in zip(checks, outcomes, strict=True)]


@dataclass(frozen=True, slots=True)
class TrajectoryVerdicts:
    """The verdicts on one trajectory: one for each rule in ``rules``, and in ``gate`` the verdict of the first failed
    gate, whose ``met`` is False or None; ``gate`` is None if the trajectory passed every gate.
    """

    rules: tuple[Verdict, ...]
    gate: Verdict | None = None


def check_group(
    group: TrajectoryGroup, *, gates: Sequence[Verifier] = (), rules: Sequence[Verifier] = ()
) -> list[TrajectoryVerdicts]:
    """Return the verdicts of gates and rules on each trajectory, in the group's order. Blocks; raises ConfigError only.

    A verifier sees the group's context before the trajectory's own messages. If it raises, or returns anything but a
    Verdict, the verdict is None with a reason. Rules are not checked if a gate's verdict is None.
    """
    whole = [replace(trajectory, messages=(*group.context, *trajectory.messages)) for trajectory in group.trajectories]
    closed = [next((verdict for gate in gates if not (verdict := _run(gate, member)).met), None) for member in whole]
    left = [member for member, gate in zip(whole, closed, strict=True) if gate is None or gate.met is False]
    columns = [_check(rule, left) for rule in rules]
    verdicts = iter(zip(*columns, strict=True) if rules else repeat(()))
    return [
        TrajectoryVerdicts(() if gate is not None and gate.met is None else next(verdicts), gate) for gate in closed
    ]


def _run(verifier: Verifier, trajectory: Trajectory) -> Verdict:
    try:
        verdict: object = verifier(trajectory)
    except ConfigError:
        raise  # a faulty configuration fails for every trajectory
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a verifier of the caller's own may fail in any way
        return Verdict(None, f"the check raised {type(error).__name__}: {error}")
    if not isinstance(verdict, Verdict) or verdict.met not in (True, False, None):
        return Verdict(None, f"the check returned {type(verdict).__name__}, not a Verdict")
    return verdict


def _check(rule: Verifier, trajectories: Sequence[Trajectory]) -> list[Verdict]:
    """Return a rule's verdict on each trajectory. A rule given as source text runs on all of them in
    one sandbox call.
    """
    if not isinstance(rule, RuleFunction):
        return [_run(rule, trajectory) for trajectory in trajectories]
    answers = [final_answer(trajectory) for trajectory in trajectories]
    verdicts = iter(check_rules([(rule, answer) for answer in answers if answer is not None], sandbox=rule.sandbox))
    return [Verdict(None, NO_ANSWER) if answer is None else next(verdicts) for answer in answers]
