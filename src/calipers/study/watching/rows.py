"""One judged group of a watched run, as a row of numbers.

Pure. Not responsible for asking anybody (``measuring``) or for what rows say together (``rules``, ``curves``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from statistics import fmean
from typing import Any, Final, Literal, Self, TypeAlias, get_args

from calipers.errors import InputError
from calipers.judging.audit import Opinion, disagreement
from calipers.monitoring.answers import message_text
from calipers.types import GroupResult, Trajectory, TrajectoryGroup
from calipers.types.encoding import measured_number

Split: TypeAlias = Literal["train", "held_out"]
"""Whether the policy is trained on a group, or only evaluated."""

SOURCES: Final = ("audit", "truth")
"""What rewards are compared with: an audit judge, and a check that knows the truth."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchedGroup:
    """A judged group of a watched run at ``step``, the number of updates before its rollouts.

    ``reward`` is the mean of the rewards and ``missing`` the share (0-1) of rollouts without one. ``characters`` is the
    mean length of the responses. ``audit`` and ``truth`` are the mean opinions of the audit judge and of the check.
    Each ``..._gap`` is the mean reward less the mean opinion, over rollouts that have both; each ``..._fidelity`` is
    Somers' D of the rewards given the opinion: 1 for the same order, 0 for chance, -1 for the reverse. None: unknown.
    """

    step: int
    split: Split
    group: str
    size: int
    missing: float
    characters: float
    reward: float | None = None
    audit: float | None = None
    audit_gap: float | None = None
    audit_fidelity: float | None = None
    truth: float | None = None
    truth_gap: float | None = None
    truth_fidelity: float | None = None

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Self:
        """Return a watched group from a row of a file. Raises InputError for a row that is none."""
        try:
            found = cls(**{one.name: row[one.name] for one in fields(cls)})
        except KeyError as error:
            raise InputError(f"is not a row of a watched run: it has no {error}") from None
        if found.split not in get_args(Split) or not isinstance(found.group, str):
            raise InputError("is not a row of a watched run: its split or its group is of another kind")
        require_numbers(row, ("step", "size"), (*_ALWAYS, *(name for name in FIGURES if row[name] is not None)))
        return found

    def as_json(self) -> dict[str, Any]:
        """Return the watched group as a row of a file."""
        return asdict(self)


FIGURES: Final = tuple(one.name for one in fields(WatchedGroup) if one.name not in ("step", "split", "group", "size"))
"""The fields of a watched group whose means over groups are curves of the run."""


_ALWAYS: Final = ("missing", "characters")


def require_numbers(row: Mapping[str, Any], whole: Iterable[str], others: Iterable[str]) -> None:
    """Raise InputError unless a row of a watched run has a whole number from 0, or a number, under these keys."""
    for name in whole:
        value = row.get(name)
        if not isinstance(value, int) or isinstance(value, bool) or value < 0:
            raise InputError(f"is not a row of a watched run: {name} must be a whole number from 0, not {value!r:.60}")
    for name in others:
        if measured_number(row.get(name)) is None:
            raise InputError(f"is not a row of a watched run: {name} must be a number, not {row.get(name)!r:.60}")


def watched_group(
    group: TrajectoryGroup, result: GroupResult, *, step: int, split: Split, opinions: Mapping[str, Opinion]
) -> WatchedGroup:
    """Return the row of a watched run for a judged group; ``opinions`` are by SOURCES, each by the trajectory's id."""
    rewards = {one.id: one.reward for one in result.trajectories}
    known = [reward for reward in rewards.values() if reward is not None]
    compared: dict[str, float | None] = {}
    for source, opinion in opinions.items():
        compared |= _comparison(source, rewards, opinion)
    return WatchedGroup(
        step=step,
        split=split,
        group=group.group_id,
        size=len(rewards),
        missing=1 - len(known) / len(rewards) if rewards else 0.0,
        characters=fmean(map(_characters, group.trajectories)) if group.trajectories else 0.0,
        reward=fmean(known) if known else None,
        **compared,
    )


def _comparison(source: str, rewards: Opinion, opinion: Opinion) -> dict[str, float | None]:
    given = [value for value in opinion.values() if value is not None]
    both = [
        (reward, value)
        for name, value in opinion.items()
        if value is not None and (reward := rewards.get(name)) is not None
    ]
    against = disagreement(rewards, opinion)
    return {
        source: fmean(given) if given else None,
        f"{source}_gap": fmean(reward - value for reward, value in both) if both else None,
        f"{source}_fidelity": None if against is None else 1 - 2 * against,
    }


def _characters(trajectory: Trajectory) -> int:
    return sum(len(message_text(one) or "") for one in trajectory.messages if one.get("role") == "assistant")
