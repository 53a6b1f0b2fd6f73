"""What is judged: trajectories, groups of them, the rubrics they are judged by, and work done on them in advance.

Plain frozen data.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

Message: TypeAlias = Mapping[str, Any]
"""An OpenAI chat message: ``role``, ``content`` and, where present, ``tool_calls``, ``tool_call_id``, ``reasoning``."""

Tool: TypeAlias = Mapping[str, Any]
"""A tool definition in OpenAI's form: ``{"type": "function", "function": {"name", "description", "parameters"}}``."""


@dataclass(frozen=True, slots=True)
class Criterion:
    """One requirement or fault that a rubric looks for. It is *met* when what ``text`` describes is the case.

    ``points`` > 0 marks something desired, < 0 something undesired; 0 has no influence on the score. ``tags`` are
    ``"axis:accuracy"`` or bare words. A violated ``veto`` (something desired is missing, or something undesired is
    present) limits the whole score to the rubric's ``veto_floor``. ``rule`` is a check in code that replaces the judge.
    """

    id: str
    text: str
    points: float = 1.0
    tags: tuple[str, ...] = ()
    veto: bool = False
    rule: Mapping[str, Any] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the criterion as data: an object of a rubric file, without fields that have their default."""
        fields: dict[str, Any] = {"id": self.id, "text": self.text, "points": self.points}
        optional = {"tags": list(self.tags), "veto": self.veto, "rule": self.rule}
        return fields | {key: value for key, value in optional.items() if value}


@dataclass(frozen=True, slots=True)
class Rubric:
    """Weighted criteria to grade a trajectory by. ``rubric.check_rubric`` checks them; this class does not.

    ``all_negative="from_one"`` allows a rubric of penalties only: its score starts at 1 and falls.
    """

    criteria: tuple[Criterion, ...]
    title: str = ""
    all_negative: Literal["refuse", "from_one"] = "refuse"
    veto_floor: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return the rubric as data: an object of a rubric file, which ``rubric.as_rubric`` turns back into it."""
        return {
            "title": self.title,
            "all_negative": self.all_negative,
            "veto_floor": self.veto_floor,
            "criteria": [criterion.to_dict() for criterion in self.criteria],
        }


@dataclass(frozen=True, slots=True)
class Transcript:
    """A trajectory as a judge would see it: canonical ``messages``, and a block of text for each.

    ``tools`` are lines, one for each tool definition; ``elided`` says what was omitted. ``key`` is a hash of everything
    a judge would see, so that two trajectories with the same key are identical to a judge.
    """

    key: bytes
    messages: tuple[Message, ...]
    blocks: tuple[str, ...]
    tools: tuple[str, ...]
    elided: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Trajectory:
    """One rollout of a policy. ``messages`` continue the group's ``context``; only calibration reads ``gold``.

    ``reward`` is an independent reward that the trajectory already has. ``extra`` holds unknown keys, which are copied
    to the result. ``rubric`` replaces the group's rubric for this trajectory. ``artifacts`` are what the rollout left
    behind, as texts by path: files, diffs, test logs, the state of a database. Only judges with tools read them.
    """

    id: str
    messages: tuple[Message, ...] = field(repr=False)
    tools: tuple[Tool, ...] | None = field(default=None, repr=False)
    reward: float | None = None
    gold: float | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict, repr=False)
    extra: Mapping[str, Any] = field(default_factory=dict, repr=False)
    rubric: Rubric | None = field(default=None, repr=False)
    artifacts: Mapping[str, str] = field(default_factory=dict, repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Return the trajectory as data: an object of a groups file."""
        return {
            **self.extra,
            "id": self.id,
            "messages": list(self.messages),
            "tools": None if self.tools is None else list(self.tools),
            "reward": self.reward,
            "gold": self.gold,
            "metadata": dict(self.metadata),
            **({} if self.rubric is None else {"rubric": self.rubric.to_dict()}),
            **({"artifacts": dict(self.artifacts)} if self.artifacts else {}),
        }


@dataclass(frozen=True, slots=True)
class TrajectoryGroup:
    """The rollouts of one prompt. A judge compares them, and GRPO normalises rewards within the group.

    ``rubric`` is text for the judge to read, or criteria for it to check. ``artifacts`` are what all rollouts began
    with, as texts by path, such as a repository's own tests.
    """

    group_id: str
    trajectories: tuple[Trajectory, ...]
    context: tuple[Message, ...] = field(default=(), repr=False)
    tools: tuple[Tool, ...] | None = field(default=None, repr=False)
    rubric: str | Rubric | None = field(default=None, repr=False)
    extra: Mapping[str, Any] = field(default_factory=dict, repr=False)
    artifacts: Mapping[str, str] = field(default_factory=dict, repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Return the group as data: a line of a groups file, which a reader turns back into this group."""
        return {
            **self.extra,
            "group_id": self.group_id,
            "context": list(self.context),
            "tools": None if self.tools is None else list(self.tools),
            "rubric": self.rubric.to_dict() if isinstance(self.rubric, Rubric) else self.rubric,
            **({"artifacts": dict(self.artifacts)} if self.artifacts else {}),
            "trajectories": [trajectory.to_dict() for trajectory in self.trajectories],
        }
