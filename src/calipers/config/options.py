"""Every option of a judge, once: all else that names one follows from the fields here.

Checks, the signature of ``Judge``, flags and their help, environment variables, calipers.toml, verl's table, what the
ledger records, and docs/options.md are made of them. Options of every day stand flat on ``JudgeOptions``; the rest is
in groups. Not responsible for what an option does, or for options that contradict one another (``judging``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeAlias

from calipers.backends.limits.budget import Budget
from calipers.config.arguments import require_params, require_range
from calipers.config.option import (
    Group,
    Options,
    choice,
    flag,
    function,
    group,
    groups_of,
    number,
    required,
    thing,
    whole,
)
from calipers.config.texts import (
    read_amounts,
    read_aspects,
    read_concurrency,
    read_gradings,
    read_params,
    read_price,
    read_weights,
    rubric_of,
)
from calipers.guard.canary import CANARY_RATE, Canaries
from calipers.interfaces import Backend, Store, Watcher
from calipers.protocols.question import OutOfRange, Parse
from calipers.registry import PROTOCOLS, REWARDS
from calipers.rewards.blend import Blend
from calipers.rubric import Grading
from calipers.types import Completion, JudgeRequest, OnAttack, Reading, Rubric

Judges: TypeAlias = "str | Backend | Sequence[str | Backend]"
"""A judge's name or a Backend; several are a panel."""

Observer: TypeAlias = Callable[[JudgeRequest, Completion, Reading], None]
"""Sees every answer and what was read from it."""

PanelMode: TypeAlias = Literal["all", "cycle", "fallback"]
Pairing: TypeAlias = Literal["all", "pivot", "swiss"]
Unresolved: TypeAlias = Literal["keep", "tie", "abstain"]
Reasoning: TypeAlias = Literal["hidden", "shown"]

THE_JUDGE, PANEL, QUESTION = "The judge", "Several judges", "The question"
READING, RESOLVING, REWARD = "Reading the answer", "Resolving close scores", "Scores to rewards"
LIMITS, DEFENCE, OUTPUT = "Limits and money", "Trajectories that address the judge", "Options"
SECTIONS = (THE_JUDGE, PANEL, QUESTION, READING, RESOLVING, REWARD, LIMITS, DEFENCE, OUTPUT)
"""The headings of the help, in their order."""


@dataclass(frozen=True, repr=False)
class Panel(Group):
    """How several judges share the work, and whom to keep out."""

    alone: ClassVar[str] = "mode"
    mode: PanelMode = choice(
        "all",
        PanelMode,
        "Of several judges: ask all of them, one per order in turn (cycle), or the next where one fails (fallback).",
        key="panel",
        section=PANEL,
        recorded=True,
        link="panels.md",
    )
    weights: Sequence[float] | None = thing(
        None,
        "The weight of each judge of the panel, in their order.",
        section=PANEL,
        metavar="W,W...",
        reads=read_weights,
        unset="learned, or equal",
        recorded=True,
        link="panels.md",
    )
    policy: str | None = thing(
        None,
        "The model under training: judges of its model family are refused.",
        section=PANEL,
        metavar="MODEL",
        link="panels.md#not-from-the-policys-own-family",
    )
    own_family: bool = flag(False, "Allow judges from the policy's own model family.", section=PANEL, link="panels.md")


@dataclass(frozen=True, repr=False)
class Resolution(Group):
    """When to stop asking about a group: once one more presentation adds less than ``tolerance`` to its reliability."""

    alone: ClassVar[str] = "tolerance"
    tolerance: float = number(
        0.015,
        "Repeat the question until one more presentation would add less than this to the group's reliability, "
        "e.g. 0.015; pairwise: ask for the other order where position bias may have decided.",
        low=0,
        high=1,
        above=True,
        below=True,
        key="resolve",
        section=RESOLVING,
        metavar="TOLERANCE",
        unset="off",
        recorded="resolve.tolerance",
        link="resolution.md",
    )
    most: int = whole(
        8,
        "With --resolve: the most presentations of a group.",
        low=1,
        section=RESOLVING,
        recorded="resolve.most",
        link="resolution.md",
    )
    unresolved: Unresolved = choice(
        "keep",
        Unresolved,
        "With --resolve: keep, tie or leave unscored a group whose scores differ only within their standard errors.",
        section=RESOLVING,
        recorded="resolve.unresolved",
        link="resolution.md",
    )


@dataclass(frozen=True, repr=False)
class Reward(Group):
    """How scores become rewards. ``kind`` None is the protocol's own."""

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
    ties: float | None = number(
        None,
        "Tie scores within this many standard errors, e.g. 1.",
        low=0,
        section=REWARD,
        recorded="reward.ties",
        link="rewards.md",
    )
    length: float | None = number(
        None,
        "The share of the range of rewards that length decides among near-tied scores, shorter is better, e.g. 0.3.",
        low=0,
        high=1,
        key="length_control",
        section=REWARD,
        metavar="SHARE",
        recorded="reward.length",
        link="rewards.md",
    )
    blend: Blend | None = choice(
        None,
        Blend,
        "Combine the judge's reward with the trajectory's own.",
        section=REWARD,
        recorded="reward.blend",
        link="rewards.md",
    )
    weight: float = number(
        0.5,
        "The judge's share with --blend weighted.",
        low=0,
        high=1,
        key="blend_weight",
        section=REWARD,
        recorded="reward.weight",
        link="rewards.md",
    )
    range: tuple[float, float] = thing(
        (0.0, 1.0),
        "Lowest and highest reward; scores are stretched to them, and a group of one gets the middle.",
        check=require_range,
        key="reward_range",
        recorded=True,
    )


@dataclass(frozen=True, repr=False)
class Question(Group):
    """What stands in a question, and what is asked again."""

    grading: Grading | Mapping[str, Any] | None = thing(
        None,
        "How a checklist is asked and scored, e.g. mode=relative or on_missing=partial.",
        section=QUESTION,
        metavar="KEY=VALUE",
        many=True,
        reads=read_gradings,
        recorded=True,
        link="rubrics.md#how-it-is-put-to-the-judge",
    )
    aspects: Mapping[str, float] | Sequence[str] | Sequence[tuple[str, float]] | None = thing(
        None,
        "Listwise: score these aspects separately, e.g. correctness=2; the score is their weighted mean.",
        flag="aspect",
        section=QUESTION,
        metavar="NAME[=WEIGHT]",
        many=True,
        reads=read_aspects,
        recorded=True,
        link="protocols.md#aspects",
    )
    at_once: int | None = whole(
        None,
        "Listwise: the most candidates in a question; larger groups are asked about in overlapping chunks.",
        low=4,
        section=QUESTION,
        unset="all",
        recorded=True,
        link="protocols.md#large-groups",
    )
    pairing: Pairing = choice(
        "all",
        Pairing,
        "Pairwise: which pairs are compared.",
        section=QUESTION,
        recorded=True,
        link="protocols.md#large-groups",
    )
    reasoning: Reasoning = choice(
        "hidden",
        Reasoning,
        "Whether the judge sees the agents' reasoning.",
        section=QUESTION,
        recorded=True,
    )
    expected: bool = flag(
        False,
        "Read scores as means over the digits the judge might have written, weighted by their log-probabilities.",
        section=READING,
        recorded=True,
        link="protocols.md#expected-scores",
    )
    reasks: int = whole(
        2, "The most follow-up questions in a row after an answer that lacks something.", low=0, recorded=True
    )
    absolute: bool = flag(False, "Also ask about a group of one trajectory, for evaluation.", recorded=True)


@dataclass(frozen=True, repr=False)
class Calls(Group):
    """How a judge is called: what goes with each call, at what pace, and at what price."""

    params: Mapping[str, Any] | None = thing(
        None,
        "A further request parameter, sent unchanged, e.g. temperature=0 (VALUE is JSON or text).",
        check=require_params,
        flag="param",
        section=THE_JUDGE,
        metavar="KEY=VALUE",
        many=True,
        reads=read_params,
        recorded=True,
    )
    max_tokens: int | None = whole(
        8192,
        "Token limit of a reply, reasoning included; raised fourfold after a reply that was cut off.",
        low=1,
        none=True,
        section=THE_JUDGE,
        recorded=True,
    )
    context_window: int | None = whole(
        None,
        "Tokens of question and reply that the judge can read; longer groups lose the middles of their longest texts.",
        low=1,
        section=THE_JUDGE,
        unset="as the server reports",
        link="transcript.md#length",
    )
    probe: bool | None = flag(
        None,
        "Check with one call whether a server that the ledger has not seen enforces the output format.",
        flag="no-probe",
        off="Skip the one-call check of structured output on servers the ledger has not seen.",
        section=THE_JUDGE,
        unset="on with a ledger",
        link="judges.md#what-is-asked-of-a-server",
    )
    timeout: float = number(120.0, "Seconds a call may take.", low=0, above=True, section=LIMITS)
    attempts: int = whole(5, "The most attempts at a call that fails on the way.", low=1)
    requests_per_minute: float | None = number(
        None,
        "The most calls begun in a minute.",
        low=0,
        above=True,
        section=LIMITS,
        link="cost-and-limits.md#requests-and-tokens-a-minute",
    )
    tokens_per_minute: float | None = number(
        None,
        "The most tokens sent and received in a minute.",
        low=0,
        above=True,
        section=LIMITS,
        link="cost-and-limits.md#requests-and-tokens-a-minute",
    )
    hedge: float | None = number(
        None,
        "The largest share of calls, the slowest, that are sent a second time, e.g. 0.05.",
        low=0,
        high=0.5,
        above=True,
        section=LIMITS,
        link="cost-and-limits.md#stragglers",
    )
    price: Sequence[float] | Mapping[str, Sequence[float]] | None = thing(
        None,
        "US dollars per million tokens of input, output and cached input, for a judge whose price is not known.",
        section=LIMITS,
        metavar="IN,OUT[,CACHED]",
        reads=read_price,
        unset="the price list's",
        link="cost-and-limits.md#prices",
    )


@dataclass(frozen=True, repr=False)
class Defence(Group):
    """Protection of the judge against prompt injection by trajectories."""

    on_attack: OnAttack = choice(
        "report",
        OnAttack,
        "What happens to a trajectory that certainly addresses the judge: report it, do not judge it (quarantine), or "
        "give it the lowest reward (floor).",
        section=DEFENCE,
        recorded=True,
        link="hostile.md#what-becomes-of-them",
    )
    canaries: Canaries = choice(
        "off",
        Canaries,
        "Plant decoy answers among the real ones, in a share of the questions or in all: they reveal judges that obey "
        "candidates.",
        section=DEFENCE,
        link="hostile.md#canaries",
    )
    canary_rate: float = number(
        CANARY_RATE,
        "The share of the questions that get a decoy, with --canaries sampled.",
        low=0,
        high=1,
        above=True,
        section=DEFENCE,
        recorded=True,
        link="hostile.md#canaries",
    )

    @property
    def share(self) -> float:
        """The share (0-1) of the questions that hold a canary."""
        return {"off": 0.0, "always": 1.0}.get(self.canaries, self.canary_rate)


@dataclass(frozen=True, repr=False)
class Records(Group):
    """What is learned from recorded answers, and who sees new ones."""

    learn: bool = flag(
        True,
        "Learn the judge's noise, its position bias and the panel's weights from the ledger's earlier answers.",
        key="experience",
        flag="no-experience",
        off="Do not learn from the ledger's earlier answers: the judge's noise, position bias, a panel's weights.",
        section=READING,
        recorded="learns",
        link="resolution.md#what-the-ledger-teaches",
    )
    watchers: Sequence[Watcher] = thing(
        (), "Objects that see every finished group: a Monitor, an Auditor, a ReviewQueue.", link="health.md"
    )
    observer: Observer | None = function("A function called with (request, completion, reading) for every answer.")
    debug: bool = flag(False, "Print every answer, and the judge's reasoning, to stderr.")


@dataclass(frozen=True, kw_only=True, repr=False)
class Everyday(Options):
    """The everyday options that decide a judge's results as they stand."""

    protocol: str = choice(
        "listwise",
        PROTOCOLS,
        "How the judge is asked.",
        section=QUESTION,
        recorded=True,
        link="protocols.md",
    )
    orders: int = whole(
        1,
        "Presentations of each group, in different orders; their scores are averaged.",
        low=1,
        section=QUESTION,
        recorded=True,
        link="protocols.md#orders-and-samples",
    )
    samples: int = whole(
        1,
        "Times each presentation is asked.",
        low=1,
        section=QUESTION,
        recorded=True,
        link="protocols.md#orders-and-samples",
    )
    seed: int = whole(0, "Seeds the orders in which candidates are shown.", section=QUESTION, recorded=True)
    quorum: int = whole(
        1,
        "Judges of a panel that must have scored a trajectory; else it abstains.",
        low=1,
        section=PANEL,
        recorded=True,
        link="panels.md",
    )
    out_of_range: OutOfRange = choice(
        "reask",
        OutOfRange,
        "What happens to a reply with scores off the scale.",
        section=READING,
        recorded=True,
        link="reading.md#scores-off-the-scale",
    )
    deadline: float | None = number(
        None, "Seconds a group may take, rules and retries included.", low=0, above=True, section=LIMITS, recorded=True
    )


@dataclass(frozen=True, kw_only=True, repr=False)
class JudgeOptions(Everyday):
    """All options of a judge, as ``Judge`` takes them. Raises ConfigError for a value that cannot work."""

    judge: Judges = field(
        kw_only=False,
        metadata=required(
            "A judge's name: provider/model, embedded, scripted:FILE or replay:LEDGER; several are a panel.",
            section=THE_JUDGE,
            metavar="MODEL",
            many=True,
            unset="embedded",
            link="judges.md#names-and-providers",
        ),
    )
    base_url: str | Sequence[str] | Mapping[str, str | Sequence[str]] | None = thing(
        None,
        "The judge's OpenAI-compatible endpoint, if it is not the provider's own; several share the work. "
        "In a panel: --judge vllm/qwen3@URL.",
        section=THE_JUDGE,
        metavar="URL",
        many=True,
        reads=list,
        link="cost-and-limits.md#several-servers",
    )
    api_key: str | Mapping[str, str] | None = thing(
        None, "The judge's key.", unset="the provider's environment variable"
    )
    rubric: str | Rubric | Mapping[str, Any] | Sequence[Any] | Path | None = thing(
        None,
        "Standards for groups that bring none: a text file, or criteria as .toml, .json or .yaml.",
        section=QUESTION,
        metavar="FILE",
        reads=rubric_of,
        unset="built-in",
        link="rubrics.md",
    )
    budget: Budget | Mapping[str, float] | None = thing(
        None,
        "What may be spent: usd=5, tokens=2e6 or calls=1000. Groups that it does not cover fail.",
        section=LIMITS,
        metavar="KIND=AMOUNT",
        many=True,
        reads=read_amounts,
        link="cost-and-limits.md#budgets",
    )
    concurrency: int | Literal["auto"] = whole(
        64,
        "Judge calls in flight, or auto: as many as the server can use.",
        low=1,
        choices=("auto",),
        section=LIMITS,
        metavar="N",
        reads=read_concurrency,
        link="cost-and-limits.md#calls-in-flight",
    )
    parse: Parse | None = function(
        "A function (text, keys) -> {key: score from 0 to 100} that reads replies.",
        link="reading.md#a-reader-of-your-own",
    )
    ledger: str | Path | Store | Any = thing(
        None,
        "Where answers are recorded: a path or sqlite:///PATH. In Python, nowhere unless it is given.",
        section=OUTPUT,
        metavar="URL",
        named=True,
        unset="OUT.ledger.db",
        link="ledger.md",
        formerly="store",
    )
    panel: Panel | PanelMode | Mapping[str, Any] | None = group(Panel)
    resolve: Resolution | bool | float | Mapping[str, Any] | None = group(Resolution)
    reward: Reward | str | Mapping[str, Any] | None = group(Reward)
    question: Question | Mapping[str, Any] = group(Question, Question())
    calls: Calls | Mapping[str, Any] = group(Calls, Calls())
    defence: Defence | Mapping[str, Any] = group(Defence, Defence())
    records: Records | Mapping[str, Any] = group(Records, Records())

    def __post_init__(self) -> None:
        """Make the groups objects and check every value."""
        self.require()
        object.__setattr__(self, "resolve", resolution(self.resolve))
        for name, of in groups_of(JudgeOptions).items():
            if name != "resolve":
                object.__setattr__(self, name, of.of(getattr(self, name), name))
            if (made := getattr(self, name)) is not None:
                made.require(name)


def resolution(resolve: object) -> Resolution | None:
    """``resolve`` as ``Judge`` takes it: None or False for off, True for the defaults, or as any group."""
    if resolve is None or resolve is False:
        return None
    return Resolution() if resolve is True else Resolution.of(resolve, "resolve")
