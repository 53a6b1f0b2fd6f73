"""The groups of a judge's options: criteria, tools, panel, resolution, reward, question, calls, defence and records.

The everyday options are in ``options``; options.toml says of all what their types do not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias, get_args

from calipers.config.arguments import require_headers, require_params, require_range, require_watchers, require_weights
from calipers.config.flag_values import read_gradings, read_headers, read_params, read_price, read_weights
from calipers.config.option import Group, nearest_name, option
from calipers.errors import ConfigError
from calipers.guard.canary import CANARY_RATE, Canaries
from calipers.interfaces import Watcher
from calipers.registry import REWARDS
from calipers.rubric.grading import Grading, Task
from calipers.types import Completion, JudgeRequest, OnAttack, Reading
from calipers.types.answers import TOOL_NAMES

CriteriaMode: TypeAlias = Literal["off", "auto"]


@dataclass(frozen=True, repr=False)
class Criteria(Group):
    """Whether the judge writes criteria for each prompt."""

    alone: ClassVar[str] = "mode"
    mode: CriteriaMode = option("criteria", choices=get_args(CriteriaMode))


ALL_TOOLS = "all"


def _require_tools(called: str, value: object) -> None:
    """Raise ConfigError unless ``value`` names tools, each once."""
    names = value if isinstance(value, list | tuple) else [value]
    for place, name in enumerate(names):
        if name not in TOOL_NAMES:
            raise ConfigError(f"{called}: {name!r} is no tool; {_meant(name)}")
        if name in names[:place]:
            raise ConfigError(f"{called}: {name!r} is there twice; name each tool once")


def _meant(name: object) -> str:
    """Return in words which tools to write in place of a name that is none."""
    if isinstance(name, str) and "," in name:
        return "name several as a list, or each with a --tool of its own"
    near = nearest_name(name.strip().casefold(), [*TOOL_NAMES, ALL_TOOLS]) if isinstance(name, str) else None
    return f"did you mean {near}?" if near else f"name {', '.join(TOOL_NAMES)}, or {ALL_TOOLS}"


@dataclass(frozen=True, repr=False)
class Tools(Group):
    """The tools with which a judge reads artifacts."""

    alone: ClassVar[str] = "names"
    names: Sequence[str] | str = option("tools", check=_require_tools, reads=tuple)

    def __post_init__(self) -> None:
        """Turn a single name into a tuple, and ``all`` into the names of all tools."""
        names = (self.names,) if isinstance(self.names, str) else self.names
        if isinstance(names, list | tuple):
            object.__setattr__(self, "names", TOOL_NAMES if ALL_TOOLS in names else tuple(names))


PanelMode: TypeAlias = Literal["all", "cycle", "fallback"]


@dataclass(frozen=True, repr=False)
class Panel(Group):
    """How several judges share the work."""

    alone: ClassVar[str] = "mode"
    mode: PanelMode = option("panel", choices=get_args(PanelMode))
    weights: Sequence[float] | None = option("weights", check=require_weights, reads=read_weights)
    error_correlation: float = option("error_correlation")


@dataclass(frozen=True, repr=False)
class Resolution(Group):
    """When to stop asking about a group: once a presentation adds less than ``tolerance`` to scores' reliability."""

    alone: ClassVar[str] = "tolerance"
    tolerance: float = option("resolve")
    most: int = option("most")


@dataclass(frozen=True, repr=False)
class Reward(Group):
    """How scores become rewards. ``kind=None`` uses the protocol's usual transform."""

    alone: ClassVar[str] = "kind"
    kind: str | None = option("reward", registered=REWARDS)
    range: tuple[float, float] = option("reward_range", check=require_range)


Observer: TypeAlias = Callable[[JudgeRequest, Completion, Reading], None]
"""Called with every request, the judge's answer, and what was read from the answer."""

Reasoning: TypeAlias = Literal["hidden", "shown"]


@dataclass(frozen=True, repr=False)
class Question(Group):
    """What a question to the judge contains, and when a question is repeated."""

    task: Task | None = option("task", choices=get_args(Task))
    grading: Grading | Mapping[str, Any] | None = option("grading", reads=read_gradings)
    at_once: int | None = option("at_once")
    reasoning: Reasoning = option("reasoning", choices=get_args(Reasoning))
    expected: bool = option("expected")
    reasks: int = option("reasks")
    absolute: bool = option("absolute")


@dataclass(frozen=True, repr=False)
class Calls(Group):
    """How the judge is called: request parameters, token limits, pace, retries and prices."""

    params: Mapping[str, Any] | None = option("params", check=require_params, reads=read_params)
    max_tokens: int | None = option("max_tokens")
    context_window: int | None = option("context_window")
    headers: Mapping[str, Any] | None = option("headers", check=require_headers, reads=read_headers)
    timeout: float = option("timeout")
    attempts: int = option("attempts")
    requests_per_minute: float | None = option("requests_per_minute")
    price: Sequence[float] | Mapping[str, Sequence[float]] | None = option("price", reads=read_price)
    before: Callable[[], Any] | None = option("before")
    after: Callable[[], Any] | None = option("after")


@dataclass(frozen=True, repr=False)
class Defence(Group):
    """Protection of the judge against prompt injection by trajectories."""

    on_attack: OnAttack = option("on_attack", choices=get_args(OnAttack))
    canaries: Canaries = option("canaries", choices=get_args(Canaries))

    @property
    def share(self) -> float:
        """The share (0-1) of the questions that contain a decoy answer."""
        return {"off": 0.0, "always": 1.0}.get(self.canaries, CANARY_RATE)


@dataclass(frozen=True, repr=False)
class Records(Group):
    """What calipers learns from recorded answers, and which functions and objects see new ones."""

    learn: bool = option("experience")
    watchers: Sequence[Watcher | Observer] = option("watchers", check=require_watchers)
    debug: bool = option("debug")
