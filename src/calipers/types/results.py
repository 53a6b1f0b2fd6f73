"""What the user gets: results of groups and trajectories, and the attacks found in them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from calipers.types.usage import NO_USAGE, Usage

TrajectoryStatus: TypeAlias = Literal["scored", "abstained", "failed"]
GroupStatus: TypeAlias = Literal["scored", "partial", "abstained", "failed"]
AttackKind: TypeAlias = Literal["instruction", "score_claim", "master_key", "fake_verdict", "fake_rubric", "layout"]
Certainty: TypeAlias = Literal["certain", "likely", "suspicious"]
OnAttack: TypeAlias = Literal["report", "quarantine", "floor"]


@dataclass(frozen=True, slots=True)
class Attack:
    """Content of a trajectory that addresses its judge. ``message`` is the position among the trajectory's messages.

    ``role`` is who wrote it ("assistant" is the policy); ``excerpt`` is a line of at most 120 characters.
    ``certainty`` is "certain" where the text speaks to the grader or about its own answer and demands an outcome, or
    forges the judge's layout for that purpose; "likely" where part of that is missing; "suspicious" where it may be
    harmless.
    """

    kind: AttackKind
    message: int
    role: str
    excerpt: str
    certainty: Certainty

    def to_dict(self) -> dict[str, Any]:
        """The result file's object."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class TrajectoryResult:
    """One trajectory's share of a GroupResult; its attributes are the result file's keys.

    ``attacks`` are the places where it addresses the judge; the result file has the key only if there are any.
    """

    id: str
    status: TrajectoryStatus
    reward: float | None = None
    score: float | None = None
    stderr: float | None = None
    explanation: str | None = None
    reason: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    attacks: tuple[Attack, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The result file's object: contract keys first, then ``extra``."""
        names = ("id", "status", "reward", "score", "stderr", "explanation", "reason")
        own: dict[str, Any] = {name: getattr(self, name) for name in names}
        if self.attacks:
            own["attacks"] = [attack.to_dict() for attack in self.attacks]
        return _with_extra(own, self.extra)


@dataclass(frozen=True, slots=True)
class GroupResult:
    """The result of one group; its attributes are the result file's keys, trajectories in input order.

    ``judge_calls`` counts answers, ``attempts`` all calls made for them, and ``unusable`` the calls that were billed
    without a usable answer. ``usage`` is the sum over all of them.
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

    @property
    def rewards(self) -> list[float | None]:
        """Rewards in input order; None is *no signal*, never zero."""
        return [trajectory.reward for trajectory in self.trajectories]

    def to_dict(self) -> dict[str, Any]:
        """The result file's line as an object."""
        own = {
            "group_id": self.group_id,
            "status": self.status,
            "trajectories": [trajectory.to_dict() for trajectory in self.trajectories],
            "judge_calls": self.judge_calls,
            "usage": self.usage.to_dict(),
            "warnings": list(self.warnings),
            "attempts": self.attempts,
            "unusable": self.unusable,
        }
        return _with_extra(own, self.extra)


def _with_extra(own: dict[str, Any], extra: Mapping[str, Any]) -> dict[str, Any]:
    """``own``, then ``extra``, which never overwrites a contract key."""
    return own | {key: value for key, value in extra.items() if key not in own} if extra else own
