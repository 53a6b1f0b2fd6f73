"""Every option of a judge: the everyday ones here, the groups in ``question_options`` and ``score_options``.

The signature of ``Judge``, the checks of its arguments, flags and their help, environment variables, the keys of
calipers.toml and of verl's table, the settings that the ledger records, and docs/options.md all follow from these
fields. Not responsible for what an option does, or for options that contradict one another (``judging``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

from calipers.backends.limits.budget import Budget
from calipers.config.option import (
    LIMITS,
    OUTPUT,
    PANEL,
    QUESTION,
    READING,
    THE_JUDGE,
    Options,
    choice,
    function,
    group,
    groups_of,
    number,
    required,
    thing,
    whole,
)
from calipers.config.question_options import Calls, Defence, Question, Records
from calipers.config.score_options import Panel, PanelMode, Resolution, Reward, resolution
from calipers.config.texts import read_amounts, read_concurrency, rubric_of
from calipers.interfaces import Backend, Store
from calipers.protocols.question import OutOfRange, Parse
from calipers.registry import PROTOCOLS
from calipers.types import Rubric

Judges: TypeAlias = "str | Backend | Sequence[str | Backend]"
"""A judge's name or a Backend; several are a panel."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Everyday(Options):
    """The everyday options that decide a judge's results and that no group holds."""

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
    """All options of a judge, as ``Judge`` takes them. Raises ConfigError for a value that is not allowed."""

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
        """Turn groups given as mappings or single values into objects, and check every value."""
        self.require()
        object.__setattr__(self, "resolve", resolution(self.resolve))
        for name, of in groups_of(JudgeOptions).items():
            if name != "resolve":
                object.__setattr__(self, name, of.of(getattr(self, name), name))
            if (made := getattr(self, name)) is not None:
                made.require(name)
