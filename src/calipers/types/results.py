"""What ``score_group`` returns: results of groups and trajectories, and the prompt injections found in them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

from calipers.types.judgments import ErrorBasis
from calipers.types.usage import NO_USAGE, Usage

TrajectoryStatus: TypeAlias = Literal["scored", "abstained", "failed"]
GroupStatus: TypeAlias = Literal["scored", "partial", "abstained", "failed"]
AttackKind: TypeAlias = Literal["instruction", "score_claim", "master_key", "fake_verdict", "fake_rubric", "layout"]
Certainty: TypeAlias = Literal["certain", "likely", "suspicious"]
OnAttack: TypeAlias = Literal["report", "quarantine", "floor"]
ReliabilityBasis: TypeAlias = Literal[ErrorBasis, "unknown"]

_COLUMNS: Final = ("id", "status", "reward", "score", "stderr", "explanation", "reason")


@dataclass(frozen=True, slots=True)
class Attack:
    """Content of a trajectory that addresses its judge. ``message`` is the position among the trajectory's messages.

    ``role`` is the author ("assistant" is the policy); ``excerpt`` is a line of at most 120 characters. ``certainty``
    is "certain" if the text speaks to the grader or about its own answer and demands an outcome, or forges the judge's
    layout for that purpose; "likely" if part of that is missing; "suspicious" if the text may be harmless.
    """

    kind: AttackKind
    message: int
    role: str
    excerpt: str
    certainty: Certainty

    def to_dict(self) -> dict[str, Any]:
        """Return the attack as data: an object of the result file."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class TrajectoryResult:
    """The result of one trajectory; its attributes are keys of the result file.

    ``attacks`` are the places where the trajectory addresses the judge; the result file has the key only if there are
    any.
    """

    id: str
    status: TrajectoryStatus
    reward: float | None = None
    score: float | None = None
    stderr: float | None = None
    explanation: str | None = field(default=None, repr=False)
    reason: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict, repr=False)
    attacks: tuple[Attack, ...] = field(default=(), repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Return the result as data: an object of the result file with the contract's keys first, then ``extra``."""
        fields: dict[str, Any] = {name: getattr(self, name) for name in _COLUMNS}
        if self.attacks:
            fields["attacks"] = [attack.to_dict() for attack in self.attacks]
        return _with_extra(fields, self.extra)


@dataclass(frozen=True, slots=True)
class Reliability:
    """The estimated share of a group's score variance that is not noise, 0 to 1; ``value`` is None if it is unknown.

    ``interval`` is its 95 % interval, None where no estimate of the noise has known degrees of ``freedom``. ``basis``
    says what the standard errors rest on: "repeats" (several answers about this group), "learned" (earlier answers of
    the judge), "assumed" (a model, or log-probabilities), or "unknown". Unknown is neither 0 nor 1.
    """

    value: float | None = None
    interval: tuple[float, float] | None = None
    basis: ReliabilityBasis = "unknown"
    freedom: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the reliability as data: an object of the result file."""
        interval = None if self.interval is None else list(self.interval)
        return {"value": self.value, "interval": interval, "basis": self.basis, "freedom": self.freedom}


UNKNOWN_RELIABILITY: Final = Reliability()
"""The reliability of a group without two scores, or with a score whose standard error is unknown."""


@dataclass(frozen=True, slots=True)
class GroupResult:
    """The result of one group, with its trajectories in input order; its attributes are keys of the result file.

    ``judge_calls`` counts answers, ``attempts`` all calls made for them, and ``unusable`` the calls that were billed
    without a usable answer. ``usage`` is the sum over all calls. ``reliability`` is that of the scores.
    """

    group_id: str
    status: GroupStatus
    trajectories: tuple[TrajectoryResult, ...]
    judge_calls: int = 0
    usage: Usage = NO_USAGE
    warnings: tuple[str, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)
    attempts: int = 0
    unusable: int = 0
    reliability: Reliability = UNKNOWN_RELIABILITY

    @property
    def rewards(self) -> list[float | None]:
        """The rewards in input order; None means *no signal*, never zero."""
        return [trajectory.reward for trajectory in self.trajectories]

    def __repr__(self) -> str:
        """Show the id, status, rewards, calls, cost and number of warnings in one line; ``to_dict`` has everything."""
        shown = ", ".join("None" if reward is None else f"{reward:.4g}" for reward in self.rewards)
        cost = "cost unknown" if self.usage.cost_usd is None else f"${self.usage.cost_usd:.4f}"
        counts = f"judge_calls={self.judge_calls}, {cost}, warnings={len(self.warnings)}"
        return f"GroupResult({self.group_id!r}, {self.status}, rewards=[{shown}], {counts})"

    def to_dict(self) -> dict[str, Any]:
        """Return the group's result as data: a line of the result file."""
        fields = {
            "group_id": self.group_id,
            "status": self.status,
            "trajectories": [trajectory.to_dict() for trajectory in self.trajectories],
            "judge_calls": self.judge_calls,
            "usage": self.usage.to_dict(),
            "warnings": list(self.warnings),
            "attempts": self.attempts,
            "unusable": self.unusable,
            "reliability": self.reliability.to_dict(),
        }
        return _with_extra(fields, self.extra)


def _with_extra(own: dict[str, Any], extra: Mapping[str, Any]) -> dict[str, Any]:
    """Merge ``own`` and ``extra``; a key of the contract is never overwritten."""
    return own | {key: value for key, value in extra.items() if key not in own} if extra else own
