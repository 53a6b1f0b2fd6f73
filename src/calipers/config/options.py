"""Every option of a judge: the everyday ones here, the others in ``grouped_options``.

From these fields and options.toml follow the signature of ``Judge``, the checks of its arguments, flags and their help,
environment variables, the keys of calipers.toml and of verl's table, what the ledger records, and docs/options.md.
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
from calipers.config.option import Option, Options, did_you_mean, groups_of, option, option_group, options_of
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

    protocol: str = option("protocol", registered=PROTOCOLS)
    orders: int = option("orders")
    samples: int = option("samples")
    seed: int = option("seed")
    quorum: int = option("quorum")
    deadline: float | None = option("deadline")


@dataclass(frozen=True, kw_only=True, repr=False)
class JudgeOptions(Everyday):
    """All options of a judge, as ``Judge`` takes them. Raises ConfigError for a value that is not allowed."""

    judge: Judges = field(kw_only=False, metadata=option("judge").metadata)
    base_url: str | Sequence[str] | Mapping[str, str | Sequence[str]] | None = option("base_url", reads=list)
    api_key: str | Mapping[str, str] | None = option("api_key")
    rubric: str | Rubric | Mapping[str, Any] | Sequence[Any] | Path | None = option("rubric", reads=read_rubric_file)
    budget: Budget | Mapping[str, float] | None = option("budget", reads=read_budget)
    concurrency: int = option("concurrency")
    parse: Parse | None = option("parse")
    ledger: str | Path | Store | Any = option("ledger")
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
            if (value := getattr(self, name)) is not None:
                value.require(name)


GROUPS: Final = groups_of(JudgeOptions)


@lru_cache(maxsize=1)
def flat_options() -> Mapping[str, Option]:
    """Return every option of a judge by its flat name, such as ``"timeout"`` for ``calls={"timeout": ...}``."""
    options = list(options_of(JudgeOptions))
    for name, of in GROUPS.items():
        options += [replace(option, group=name) for option in options_of(of)]  # type: ignore[arg-type]  # mypy #11469
    return {option.key: option for option in options}


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
    places = [option.argument for option in flat_options().values() if key in (option.name, option.key)]
    if not places or get_close_matches(str(key), known, n=1, cutoff=0.8):
        return did_you_mean(str(key), known)
    return f" Write {' or '.join(places)} instead."
