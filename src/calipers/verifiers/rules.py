"""Rules given as Python source text (VerInstruct's and VerIF's form): ``def check_following(instruction, response)``.

The source is data from a file, perhaps from a stranger, and the response is the policy's. Both run in the sandbox,
never in this process. Only a plain True or False is a verdict, unless ``truthy`` is set, as in VerIF.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from calipers.errors import InputError
from calipers.types import Verdict
from calipers.verifiers.answer import AnswerVerifier
from calipers.verifiers.sandbox import Job, Outcome, Sandbox, shared_sandbox


@dataclass(frozen=True, slots=True)
class RuleFunction(AnswerVerifier):
    """``source`` defines ``function``, which takes the response, or the ``instruction`` and the response, and returns
    whether the rule is followed. Raises InputError for a source without that name.

    The verdict is None, with a reason, for a rule that raises, does not end, imports or opens what the sandbox does not
    offer, or returns anything but True or False. With ``truthy`` Python's truth value of the result counts: a match, a
    number but 0, a list that is not empty are True, None is False. Reasons call the rule ``name``.
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

    def job(self, response: str) -> Job:
        """The sandbox's job to check ``response``."""
        return Job(self.source, self.function, ((self.instruction, response),), fit=True, truthy=self.truthy)

    def verdict(self, outcome: Outcome) -> Verdict:
        """The verdict on the response of a job with this outcome."""
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
        reason = "" if met else f"{self.name or self.function}: {reason}"
        return Verdict(met, reason, criterion=self.name or None)

    def check(self, answer: str) -> Verdict:
        return check_rules([(self, answer)], sandbox=self.sandbox)[0]


def check_rules(checks: Sequence[tuple[RuleFunction, str]], *, sandbox: Sandbox | None = None) -> list[Verdict]:
    """Many rules on many responses at once, in order: as many at a time as the sandbox has workers."""
    outcomes = (sandbox or shared_sandbox()).run([rule.job(response) for rule, response in checks])
    return [rule.verdict(outcome) for (rule, _), outcome in zip(checks, outcomes, strict=True)]
