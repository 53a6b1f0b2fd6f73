"""The groups of a judge's options: criteria, tools, panel, resolution, reward, question, calls, defence and records.

Their fields are declared as in ``option``; the everyday options are in ``options``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias

from calipers.config.arguments import require_headers, require_params, require_range, require_watchers
from calipers.config.flag_values import read_gradings, read_headers, read_params, read_price, read_weights
from calipers.config.option import (
    DEFENCE,
    LIMITS,
    PANEL,
    QUESTION,
    READING,
    RESOLVING,
    REWARD,
    THE_JUDGE,
    Group,
    any_value,
    choice,
    flag,
    function,
    nearest_name,
    number,
    whole_number,
)
from calipers.errors import ConfigError
from calipers.guard.canary import CANARY_RATE, Canaries
from calipers.interfaces import Watcher
from calipers.registry import REWARDS
from calipers.rubric import Grading
from calipers.types import Completion, JudgeRequest, OnAttack, Reading
from calipers.types.answers import TOOL_NAMES

CriteriaMode: TypeAlias = Literal["off", "auto"]


@dataclass(frozen=True, repr=False)
class Criteria(Group):
    """Whether the judge writes criteria for each prompt."""

    alone: ClassVar[str] = "mode"
    mode: CriteriaMode = choice(
        "off",
        CriteriaMode,
        "With auto, the (first) judge writes criteria for each prompt before any answer is judged, once for all its "
        "groups. For groups without a rubric of their own.",
        key="criteria",
        section=QUESTION,
        recorded=True,
        link="rubrics.md#criteria-for-each-prompt",
    )


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
    names: Sequence[str] | str = any_value(
        (),
        "A tool with which the judge reads the artifacts of candidates: list_files, read_file, search, diff, "
        "python, or all.",
        key="tools",
        flag="tool",
        section=QUESTION,
        metavar="NAME",
        many=True,
        reads=tuple,
        check=_require_tools,
        unset="none",
        recorded=True,
        link="verifiers.md#a-judge-with-tools",
    )

    def __post_init__(self) -> None:
        """Turn a single name into a tuple, and ``all`` into the names of all tools."""
        given = (self.names,) if isinstance(self.names, str) else self.names
        if isinstance(given, list | tuple):
            object.__setattr__(self, "names", TOOL_NAMES if ALL_TOOLS in given else tuple(given))


PanelMode: TypeAlias = Literal["all", "cycle", "fallback"]


@dataclass(frozen=True, repr=False)
class Panel(Group):
    """How several judges share the work."""

    alone: ClassVar[str] = "mode"
    mode: PanelMode = choice(
        "all",
        PanelMode,
        "Which judges of a panel are asked: all, the next for each order (cycle), or the next if one fails (fallback).",
        key="panel",
        section=PANEL,
        recorded=True,
        link="panels.md",
    )
    weights: Sequence[float] | None = any_value(
        None,
        "The weight of each judge of a panel, in the order of the judges.",
        section=PANEL,
        metavar="W,W...",
        reads=read_weights,
        unset="learned, or equal",
        recorded=True,
        link="panels.md",
    )
    error_correlation: float = number(
        0.0,
        "The correlation of two judges' errors in a panel, as calibrate reports it: standard errors allow for it.",
        low=0,
        high=1,
        below=True,
        section=PANEL,
        metavar="SHARE",
        recorded=True,
        link="panels.md",
    )


@dataclass(frozen=True, repr=False)
class Resolution(Group):
    """When to stop asking about a group: once a presentation adds less than ``tolerance`` to scores' reliability."""

    alone: ClassVar[str] = "tolerance"
    tolerance: float = number(
        0.015,
        "Ask about a group again until one more presentation would add less than this to the reliability of its "
        "scores, e.g. 0.015. Pairwise: ask again in the other order where position bias may have decided.",
        low=0,
        high=1,
        above=True,
        below=True,
        key="resolve",
        section=RESOLVING,
        metavar="TOLERANCE",
        unset="off",
        recorded="resolve.tolerance",
        link="protocols.md#adaptive-calls",
    )
    most: int = whole_number(
        8,
        "With --resolve: how many presentations a group may have.",
        low=1,
        section=RESOLVING,
        recorded="resolve.most",
        link="protocols.md#adaptive-calls",
    )


@dataclass(frozen=True, repr=False)
class Reward(Group):
    """How scores become rewards. ``kind=None`` uses the protocol's usual transform."""

    alone: ClassVar[str] = "kind"
    kind: str | None = choice(
        None,
        REWARDS,
        "How scores become rewards.",
        key="reward",
        section=REWARD,
        unset="score; pairwise: win_rate",
        recorded="reward.kind",
        link="rewards.md",
    )
    range: tuple[float, float] = any_value(
        (0.0, 1.0),
        "The lowest and highest reward. Scores are scaled to this range; a group of one trajectory gets the middle.",
        check=require_range,
        key="reward_range",
        recorded=True,
    )


Observer: TypeAlias = Callable[[JudgeRequest, Completion, Reading], None]
"""Called with every request, the judge's answer, and what was read from the answer."""

Reasoning: TypeAlias = Literal["hidden", "shown"]


@dataclass(frozen=True, repr=False)
class Question(Group):
    """What a question to the judge contains, and when a question is repeated."""

    grading: Grading | Mapping[str, Any] | None = any_value(
        None,
        "How a checklist is asked and scored, e.g. mode=relative or on_missing=partial.",
        section=QUESTION,
        metavar="KEY=VALUE",
        many=True,
        reads=read_gradings,
        recorded=True,
        link="rubrics.md#how-it-is-put-to-the-judge",
    )
    at_once: int | None = whole_number(
        None,
        "Listwise: how many candidates a question may have; larger groups are asked about in overlapping chunks.",
        low=4,
        section=QUESTION,
        unset="all",
        recorded=True,
        link="protocols.md#large-groups",
    )
    reasoning: Reasoning = choice(
        "hidden",
        Reasoning,
        "Whether the judge sees the reasoning in trajectories.",
        section=QUESTION,
        recorded=True,
    )
    expected: bool = flag(
        False,
        "Read a score as the mean of the digits that the judge might have written, weighted by their probabilities.",
        section=READING,
        recorded=True,
        link="protocols.md#expected-scores",
    )
    reasks: int = whole_number(
        2, "How many follow-up questions in a row an incomplete answer may cause.", low=0, recorded=True
    )
    absolute: bool = flag(False, "Also ask about a group of one trajectory, for evaluation.", recorded=True)


@dataclass(frozen=True, repr=False)
class Calls(Group):
    """How the judge is called: request parameters, token limits, pace, retries and prices."""

    params: Mapping[str, Any] | None = any_value(
        None,
        "A further request parameter, sent unchanged, e.g. temperature=0. VALUE is JSON or text.",
        check=require_params,
        flag="param",
        named=True,
        section=THE_JUDGE,
        metavar="KEY=VALUE",
        many=True,
        reads=read_params,
        recorded=True,
    )
    max_tokens: int | None = whole_number(
        8192,
        "Token limit of a reply, reasoning included. If a reply is cut off, it is repeated with four times the limit.",
        low=1,
        none=True,
        section=THE_JUDGE,
        recorded=True,
    )
    context_window: int | None = whole_number(
        None,
        "Tokens of question and reply together that the judge can process. In longer groups, the middles of the "
        "longest texts are omitted.",
        low=1,
        section=THE_JUDGE,
        unset="as the server reports",
        link="transcript.md#length",
    )
    headers: Mapping[str, Any] | None = any_value(
        None,
        "A further header of every request, e.g. X-Team=search; in Python a mapping, or one of these by judge name.",
        check=require_headers,
        flag="header",
        section=THE_JUDGE,
        metavar="NAME=VALUE",
        many=True,
        reads=read_headers,
        named=True,
        link="judges.md#servers-of-your-own",
    )
    timeout: float = number(120.0, "Seconds that a call may take.", low=0, above=True, section=LIMITS)
    attempts: int = whole_number(5, "How often a call is attempted if it fails for a reason that may pass.", low=1)
    requests_per_minute: float | None = number(
        None,
        "How many calls may begin in a minute.",
        low=0,
        above=True,
        section=LIMITS,
        link="cost-and-limits.md#calls-in-flight",
    )
    price: Sequence[float] | Mapping[str, Sequence[float]] | None = any_value(
        None,
        "US dollars per million tokens of input, output and cached input, for a judge that the price list lacks.",
        section=LIMITS,
        metavar="IN,OUT[,CACHED]",
        reads=read_price,
        unset="the price list's",
        link="cost-and-limits.md#prices",
    )
    before: Callable[[], Any] | None = function(
        "A function without arguments that is called before judging, e.g. to wake the judge's server.",
        link="judges.md#one-gpu-for-both",
    )
    after: Callable[[], Any] | None = function(
        "A function without arguments that is called when no group is judged any more, e.g. to free the judge's GPU.",
        link="judges.md#one-gpu-for-both",
    )


@dataclass(frozen=True, repr=False)
class Defence(Group):
    """Protection of the judge against prompt injection by trajectories."""

    on_attack: OnAttack = choice(
        "report",
        OnAttack,
        "What happens to a trajectory that certainly addresses the judge: it is reported only, not judged "
        "(quarantine), or gets the lowest reward (floor).",
        section=DEFENCE,
        recorded=True,
        link="hostile.md#what-becomes-of-them",
    )
    canaries: Canaries = choice(
        "off",
        Canaries,
        "Add decoy answers to one in twenty questions (sampled) or to all (always), which reveal judges that obey "
        "candidates.",
        section=DEFENCE,
        recorded=True,
        link="hostile.md#canaries",
    )

    @property
    def share(self) -> float:
        """The share (0-1) of the questions that contain a decoy answer."""
        return {"off": 0.0, "always": 1.0}.get(self.canaries, CANARY_RATE)


@dataclass(frozen=True, repr=False)
class Records(Group):
    """What calipers learns from recorded answers, and which functions and objects see new ones."""

    learn: bool = flag(
        True,
        "Learn judges' noise, their position bias and a panel's weights from earlier answers in the ledger.",
        key="experience",
        flag="no-experience",
        off="Do not learn judges' noise, their position bias and a panel's weights from earlier answers in the ledger.",
        section=READING,
        recorded="learns",
        link="protocols.md#what-the-ledger-teaches",
    )
    watchers: Sequence[Watcher | Observer] = any_value(
        (),
        "Objects that see every finished group, such as a Monitor, an Auditor or a ReviewQueue, and functions that are "
        "called with (request, completion, reading) for every answer.",
        check=require_watchers,
        link="health.md",
    )
    debug: bool = flag(False, "Print every answer, and the judge's reasoning, to stderr.")
