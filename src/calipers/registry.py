"""Finds judges, protocols, rewards, verifiers and readers by name, in calipers and in other packages.

Each name in the tables of calipers has a ``module:attribute``, which is imported when first used. Another package adds
its own names by entry points in the group of the same kind::

    [project.entry-points."calipers.rewards"]
    cubed = "their_package.rewards:Cubed"

Entry points are searched only for a name that calipers does not have, or for a list of all names. Another package
cannot take a name of calipers.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from calipers.errors import ConfigError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

_log = logging.getLogger(__name__)


def load_object(thing: Any) -> Any:
    """Import the object that ``module:attribute`` names; return anything but text unchanged."""
    if not isinstance(thing, str):
        return thing
    module, _, attribute = thing.partition(":")
    return getattr(import_module(module), attribute)


def import_library(module: str, *, remedy: str) -> Any:
    """Import a library that only some need, such as an extra. Raises ConfigError with ``remedy`` if it is missing."""
    try:
        return import_module(module)
    except ImportError as error:
        raise ConfigError(f"{remedy} ({error})") from error


@dataclass(frozen=True, slots=True)
class Registry:
    """The objects of one kind by name, such as all reward transforms.

    ``what`` is the kind in words, and ``group`` the group of entry points by which other packages add theirs. ``own``
    is the table of calipers, or its ``module:attribute``.
    """

    what: str
    group: str
    own: Mapping[str, Any] | str

    @property
    def ours(self) -> Mapping[str, Any]:
        """The table of names that calipers itself provides."""
        table: Mapping[str, Any] = load_object(self.own)
        return table

    def names(self) -> list[str]:
        """Return every name, of calipers and of other packages, in alphabetical order."""
        return sorted([*self.ours, *self._entries()])

    def __contains__(self, name: str) -> bool:
        return name in self.ours or name in self._entries()

    def find(self, name: str) -> Any:
        """Return the object with this name.

        Raises ConfigError for an unknown name, for a name that several packages provide, and for a package that cannot
        be loaded.
        """
        if name in self.ours:
            return load_object(self.ours[name])
        entries = self._entries().get(name)
        if entries is None:
            near = self.nearest(name)
            hint = f"did you mean {near}?" if near else f"there are: {', '.join(self.names())}"
            raise ConfigError(f"unknown {self.what} {name!r}; {hint}")
        if len(entries) > 1:
            packages = ", ".join(map(_package, entries))
            raise ConfigError(f"several packages bring a {self.what} {name!r}: {packages}; uninstall all but one")
        try:
            return entries[0].load()
        except Exception as error:
            raise ConfigError(
                f"the {self.what} {name!r} of the package {_package(entries[0])} cannot be loaded: its entry point "
                f"{entries[0].value} in {self.group} fails with {type(error).__name__}: {error}"
            ) from error

    def nearest(self, name: str) -> str | None:
        """Return the name in the registry that ``name`` is probably a misspelling of, if any."""
        return next(iter(get_close_matches(name.casefold(), self.names(), n=1, cutoff=0.75)), None)

    def _entries(self) -> Mapping[str, tuple[EntryPoint, ...]]:
        return _entry_points(self.what, self.group, frozenset(self.ours))


@lru_cache(maxsize=16)
def _entry_points(what: str, group: str, taken: frozenset[str]) -> Mapping[str, tuple[EntryPoint, ...]]:
    """Return the entry points of other packages by name. Names that are already ``taken`` are logged and skipped.

    Cached, because every installed package is searched.
    """
    from importlib.metadata import entry_points  # noqa: PLC0415 - slow to import, and names of ours do without

    by_name: dict[str, tuple[EntryPoint, ...]] = {}
    for entry in entry_points(group=group):
        if entry.name in taken:
            _log.warning(
                "The %s %r of the package %s is not used: calipers has one of that name.",
                what,
                entry.name,
                _package(entry),
            )
        else:
            by_name[entry.name] = (*by_name.get(entry.name, ()), entry)
    return by_name


def _package(entry: EntryPoint) -> str:
    return "?" if entry.dist is None else f"{entry.dist.name} {entry.dist.version}"


@dataclass(frozen=True, slots=True)
class Method:
    """The parts of a judging protocol, each as ``module:attribute`` or the object itself.

    ``protocol`` is called with the judge's settings, ``planner`` with ``orders`` and ``samples``, ``reward`` with the
    range of rewards; ``aggregator`` is a function, or a class that is called without arguments. ``expected`` replaces
    ``protocol`` if scores are read as expectations; it is None if the protocol does not offer that. ``graded`` marks a
    protocol that checks criteria: all of its parts take ``grading=``.
    """

    protocol: Any
    planner: Any = "calipers.planners.first_asks:Orders"
    aggregator: Any = "calipers.aggregators.two_way:two_way"
    reward: Any = "calipers.rewards.identity:Identity"
    expected: Any = None
    graded: bool = False


def find_method(name: str) -> Method:
    """Return the parts of the judging protocol ``name``. Raises ConfigError for an unknown name."""
    method = PROTOCOLS.find(name)
    if not isinstance(method, Method):
        raise ConfigError(
            f"the protocol {name!r} is {method!r:.80}; its entry point must name a calipers.registry.Method"
        )
    return method


BACKENDS: Final = Registry("judge", "calipers.backends", "calipers.backends.providers.known:BACKENDS")

PROTOCOLS: Final = Registry(
    "protocol",
    "calipers.protocols",
    {
        "listwise": Method(
            "calipers.protocols.scores:Listwise", expected="calipers.protocols.expected:ExpectedListwise"
        ),
        "pairwise": Method(
            "calipers.protocols.scores:Pairwise",
            "calipers.planners.first_asks:Pairs",
            "calipers.aggregators.bradley_terry:BradleyTerry",
            "calipers.rewards.win_rate:WinRate",
            expected="calipers.protocols.expected:ExpectedPairwise",
        ),
        "pointwise": Method(
            "calipers.protocols.scores:Pointwise",
            "calipers.planners.first_asks:Rounds",
            expected="calipers.protocols.expected:ExpectedPointwise",
        ),
        "checklist": Method(
            "calipers.protocols.checklist:Checklist",
            "calipers.planners.first_asks:Criteria",
            "calipers.aggregators.criteria:CriteriaScores",
            "calipers.rewards.rubric_range:RubricRange",
            graded=True,
        ),
    },
)

REWARDS: Final = Registry(
    "reward",
    "calipers.rewards",
    {
        "score": "calipers.rewards.identity:Identity",
        "win_rate": "calipers.rewards.win_rate:WinRate",
        "rank": "calipers.rewards.rank:Rank",
        "shrunk": "calipers.rewards.reliable:Shrunk",
        "weighted": "calipers.rewards.reliable:Weighted",
    },
)

VERIFIERS: Final = Registry(
    "verifier",
    "calipers.verifiers",
    {
        "all_of": "calipers.verifiers.combine:all_of",
        "any_of": "calipers.verifiers.combine:any_of",
        "code_tests": "calipers.verifiers.code:CodeTests",
        "exact": "calipers.verifiers.answer:Exact",
        "has_answer": "calipers.verifiers.answer:answered",
        "ifeval": "calipers.verifiers.ifeval:instruction",
        "json_schema": "calipers.verifiers.answer:JsonSchema",
        "maths": "calipers.verifiers.maths:MathsEquivalence",
        "not": "calipers.verifiers.combine:not_",
        "numeric": "calipers.verifiers.answer:Numeric",
        "regex": "calipers.verifiers.answer:Regex",
        "rule": "calipers.verifiers.rules:RuleFunction",
        "tool_called": "calipers.verifiers.tools:ToolCalled",
        "tool_outcome": "calipers.verifiers.tools:ToolOutcome",
        "word_count": "calipers.verifiers.answer:WordCount",
    },
)

READERS: Final = Registry(
    "reader",
    "calipers.readers",
    {
        "eval": "calipers.inputs.inspect_log:eval_rows",
        "json": "calipers.inputs.records:read_json_file",
        "jsonl": "calipers.inputs.records:read_json_lines",
        "parquet": "calipers.inputs.records:parquet_group_rows",
    },
)
