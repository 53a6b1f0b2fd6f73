"""Every option of a judge: the everyday ones here, the others in ``grouped_options``.

The signature of ``Judge``, the checks of its arguments, flags and their help, environment variables, the keys of
calipers.toml and of verl's table, the settings that the ledger records, and docs/options.md all follow from these
fields.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, TypeAlias

from calipers.backends.limits.budget import Budget
from calipers.config.flag_values import read_budget, read_rubric_file
from calipers.config.grouped_options import (
    Calls,
    Criteria,
    CriteriaMode,
    Defence,
    Panel,
    PanelMode,
    Question,
    Records,
    Resolution,
    Reward,
    Tools,
)
from calipers.config.option import (
    LIMITS,
    OUTPUT,
    PANEL,
    QUESTION,
    THE_JUDGE,
    Option,
    Options,
    any_value,
    choice,
    did_you_mean,
    function,
    groups_of,
    number,
    option_group,
    options_of,
    required_option,
    whole_number,
)
from calipers.errors import ConfigError
from calipers.interfaces import Backend, Store
from calipers.protocols.question import Parse
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
        "How the judge is asked: for scores of the whole list, of pairs, of single candidates, or for criteria.",
        section=QUESTION,
        recorded=True,
        link="protocols.md",
    )
    orders: int = whole_number(
        1,
        "Presentations of each group, in different orders; their scores are averaged.",
        low=1,
        section=QUESTION,
        recorded=True,
        link="protocols.md#orders-and-samples",
    )
    samples: int = whole_number(
        1,
        "How often each presentation is asked.",
        low=1,
        section=QUESTION,
        recorded=True,
        link="protocols.md#orders-and-samples",
    )
    seed: int = whole_number(
        0, "The seed of the orders in which candidates are shown.", section=QUESTION, recorded=True
    )
    quorum: int = whole_number(
        1,
        "How many judges of a panel must have scored a trajectory; with fewer, it abstains.",
        low=1,
        section=PANEL,
        recorded=True,
        link="panels.md",
    )
    deadline: float | None = number(
        None,
        "Seconds that judging a group may take, rules and retries included.",
        low=0,
        above=True,
        section=LIMITS,
        recorded=True,
    )


@dataclass(frozen=True, kw_only=True, repr=False)
class JudgeOptions(Everyday):
    """All options of a judge, as ``Judge`` takes them. Raises ConfigError for a value that is not allowed."""

    judge: Judges = field(
        kw_only=False,
        metadata=required_option(
            "The judge's name: provider/model, embedded, local:DIR, profile:FILE, scripted:FILE or replay:LEDGER. "
            "Several names are a panel.",
            section=THE_JUDGE,
            metavar="MODEL",
            many=True,
            unset="embedded",
            link="judges.md#names-and-providers",
        ),
    )
    base_url: str | Sequence[str] | Mapping[str, str | Sequence[str]] | None = any_value(
        None,
        "The judge's OpenAI-compatible endpoint, if it is not the provider's own; several share the work. "
        "For a judge of a panel, write --judge vllm/qwen3@URL.",
        section=THE_JUDGE,
        metavar="URL",
        many=True,
        reads=list,
        link="cost-and-limits.md#several-servers",
    )
    api_key: str | Mapping[str, str] | None = any_value(
        None, "The judge's API key.", unset="the provider's environment variable"
    )
    rubric: str | Rubric | Mapping[str, Any] | Sequence[Any] | Path | None = any_value(
        None,
        "Standards for groups without a rubric of their own: a text file, or criteria as .toml, .json or .yaml (in "
        "Python the text itself, or a Path).",
        section=QUESTION,
        metavar="FILE",
        reads=read_rubric_file,
        unset="built-in",
        link="rubrics.md",
    )
    budget: Budget | Mapping[str, float] | None = any_value(
        None,
        "The most that may be spent: usd=5, tokens=2e6 or calls=1000. Groups beyond the budget fail.",
        section=LIMITS,
        metavar="KIND=AMOUNT",
        many=True,
        reads=read_budget,
        link="cost-and-limits.md#budgets",
    )
    concurrency: int = whole_number(
        64,
        "How many calls to the judge are in flight at once.",
        low=1,
        section=LIMITS,
        metavar="N",
        link="cost-and-limits.md#calls-in-flight",
    )
    parse: Parse | None = function(
        "A function (text, keys) -> {key: score from 0 to 100} that reads the judge's replies.",
        link="reading.md#a-reader-of-your-own",
    )
    ledger: str | Path | Store | Any = any_value(
        None,
        "The ledger that records all answers: a path, sqlite:///PATH or postgresql://HOST/DATABASE.",
        section=OUTPUT,
        metavar="URL",
        named=True,
        unset="OUT.ledger.db",
        link="ledger.md",
    )
    criteria: Criteria | CriteriaMode | Mapping[str, Any] = option_group(Criteria, Criteria())
    tools: Tools | Sequence[str] | str | Mapping[str, Any] | None = option_group(Tools, Tools())
    panel: Panel | PanelMode | Mapping[str, Any] | None = option_group(Panel)
    resolve: Resolution | bool | float | Mapping[str, Any] | None = option_group(Resolution)
    reward: Reward | str | Mapping[str, Any] | None = option_group(Reward)
    question: Question | Mapping[str, Any] = option_group(Question, Question())
    calls: Calls | Mapping[str, Any] = option_group(Calls, Calls())
    defence: Defence | Mapping[str, Any] = option_group(Defence, Defence())
    records: Records | Mapping[str, Any] = option_group(Records, Records())

    def __post_init__(self) -> None:
        """Turn groups given as mappings or single values into objects, and check every value."""
        self.require()
        for name in GROUPS:
            object.__setattr__(self, name, options_in_group(name, getattr(self, name)))
            if (made := getattr(self, name)) is not None:
                made.require(name)


GROUPS: Final = groups_of(JudgeOptions)


@lru_cache(maxsize=1)
def flat_options() -> Mapping[str, Option]:
    """Return every option of a judge by its flat name, such as ``"timeout"`` for ``calls={"timeout": ...}``."""
    found = list(options_of(JudgeOptions))
    for name, of in GROUPS.items():
        found += [replace(option, group=name) for option in options_of(of)]  # type: ignore[arg-type]  # mypy #11469
    return {option.key: option for option in found}


def options_in_group(name: str, value: object) -> Any:
    """Turn the argument ``name`` of ``Judge`` into its group of options; None if ``resolve`` is off.

    Raises ConfigError for an option that the group does not have; the error says where the option belongs.
    """
    if name == "resolve" and (value is None or value is False):
        return None
    if name == "resolve" and value is True:
        return Resolution()
    if isinstance(value, Mapping):
        known = [option.name for option in options_of(GROUPS[name])]  # type: ignore[arg-type]  # mypy #11469
        for key in value:
            if key not in known:
                raise ConfigError(f"{name}: {key!r} is unknown.{_right_place(key, known)}")
    return GROUPS[name].of(value, name)


def _right_place(key: object, known: Sequence[str]) -> str:
    """Return the right place for an option that ``Judge`` got in the wrong group: another group, or another name."""
    places = [option.argument for option in flat_options().values() if key in option.names]
    if not places or get_close_matches(str(key), known, n=1, cutoff=0.8):
        return did_you_mean(str(key), known)
    return f" Write {' or '.join(places)} instead."
