"""Rules given as Python source text (VerInstruct's and VerIF's form): ``def check_following(instruction, response)``.

The source may come from a stranger's file, and the response comes from the policy. Both run in the sandbox, never in
this process. Only True and False are verdicts, unless ``truthy`` is set, as in VerIF.
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

    def job(self, response: str) -> Job:
        """Return the sandbox job that checks ``response`` by this rule."""
        return Job(self.source, self.function, ((self.instruction, response),), fit=True, truthy=self.truthy)

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
        reason = "" if met else f"{self.name or self.function}: {reason}"
        return Verdict(met, reason, criterion=self.name or None)

    def check(self, answer: str) -> Verdict:
        return check_rules([(self, answer)], sandbox=self.sandbox)[0]


def check_rules(checks: Sequence[tuple[RuleFunction, str]], *, sandbox: Sandbox | None = None) -> list[Verdict]:
    """Return the verdicts of rules given as source text on responses, in order. The sandbox runs
    several rules at a time.
    """
    outcomes = (sandbox or shared_sandbox()).run([rule.job(response) for rule, response in checks])
    return [rule.verdict(outcome) for (rule, _), outcome in zip(checks, outcomes, strict=True)]
