"""Read the ``calipers`` table of verl's configuration, and make the judge of each of verl's processes from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Final, Literal, TypeAlias, get_args

from calipers.config.arguments import require_above_zero, require_one_of, require_whole
from calipers.config.option import did_you_mean
from calipers.config.options import flat_options
from calipers.errors import ConfigError
from calipers.judging.judge import Judge
from calipers.monitoring.monitor import Monitor
from calipers.trainers.run import PATIENCE, Lasting
from calipers.verifiers.constraints import RulesAs

CONCURRENCY: Final = 128
"""The most concurrent judge calls in the whole run, unless ``concurrency`` is given."""

_PYTHON_ONLY: Final = frozenset({"parse", "watchers"})
_DIVIDED: Final = ("concurrency", "requests_per_minute")

Recipe: TypeAlias = Literal["rubric_batch", "verif"]
_RECIPES: Final[Mapping[Recipe, Mapping[str, Any]]] = {
    "rubric_batch": {"protocol": "checklist", "grading": {"normaliser": "ruscarl_batch", "reward": "score"}},
    "verif": {"protocol": "checklist", "grading": {"normaliser": "all_or_nothing"}},
}
"""A recipe's defaults for a Judge's options."""


@dataclass(frozen=True, slots=True)
class VerlSettings:
    """Settings for verl. ``judge`` are a Judge's options; the other fields describe groups and rows.

    ``min_group`` is the number of a prompt's rollouts that must be scored before any of them is trained on.
    ``patience`` counts the lost groups of one worker. ``monitor`` watches the judge and writes alarms to stderr.
    ``reference`` adds each row's ``reward_model.ground_truth`` to the question. ``recipe`` selects a way to score rows
    other than plain comparison, and ``rules`` what the recipe does with rules.
    """

    judge: Mapping[str, Any]
    min_group: int = 2
    reference: bool = False
    recipe: Recipe | None = None
    rules: RulesAs = "code"
    patience: Lasting = PATIENCE
    monitor: bool = False

    @property
    def absolute(self) -> bool:
        """Return whether the judge also scores single rollouts."""
        return self.judge.get("absolute") is True or self.recipe is not None


_OWN_KEYS: Final = frozenset(one.name for one in fields(VerlSettings)) - {"judge"}


def read_settings(table: object) -> VerlSettings:
    """Return the settings in the plain table for verl. Raises ConfigError for unknown keys and invalid values."""
    table = _known_keys(table)
    # +calipers.patience=null is for ever; any other null is the default.
    given = {
        key: value for key, value in table.items() if key in _OWN_KEYS and (value is not None or key == "patience")
    }
    settings = VerlSettings(_with_recipe(table, given.get("recipe")), **given)
    if settings.recipe is not None:
        require_one_of(get_args(Recipe), recipe=settings.recipe)
    require_one_of(get_args(RulesAs), rules=settings.rules)
    if settings.rules != "code" and settings.recipe != "verif":
        raise ConfigError(f"+calipers.rules={settings.rules}: only +calipers.recipe=verif uses rules")
    numbers = {name: given[name] for name in ("min_group", "patience") if name in given}
    require_whole(**numbers)
    require_above_zero(**numbers)
    if settings.min_group < 2 and not settings.absolute:
        raise ConfigError(
            f"+calipers.min_group={settings.min_group}: a single rollout has nothing to be compared with, and verl "
            "would use its reward as its advantage; make it 2 or more"
        )
    for name in ("reference", "monitor"):
        if not isinstance(getattr(settings, name), bool):
            raise ConfigError(f"+calipers.{name}={getattr(settings, name)!r}: it must be true or false")
    return settings


def _known_keys(table: object) -> Mapping[str, Any]:
    if not isinstance(table, Mapping):
        raise ConfigError(
            "verl's configuration names no judge: add +calipers.judge=openai/gpt-5-mini (and, as further "
            "+calipers.KEY=, any other option in docs/options.md)"
        )
    if "api_key" in table:
        raise ConfigError(
            "+calipers.api_key: verl prints and stores its configuration, so set keys in the environment of every "
            "node, as in: export OPENAI_API_KEY=..."
        )
    known = flat_options().keys() | _OWN_KEYS
    for key in map(str, table):
        if key in _PYTHON_ONLY:
            raise ConfigError(
                f"+calipers.{key}: this option is a Python object, which verl's configuration cannot hold"
            )
        if key not in known:
            raise ConfigError(f"+calipers.{key}: unknown.{did_you_mean(key, known - _PYTHON_ONLY)}")
    if not isinstance(table.get("judge"), str | list) or not table["judge"]:
        raise ConfigError(f"+calipers.judge={table.get('judge')!r}: it must be a judge's name, as in openai/gpt-5-mini")
    return table


def _with_recipe(table: Mapping[str, Any], recipe: Any) -> dict[str, Any]:
    """Return a Judge's options: those of the recipe, overridden by the table. ``grading`` is merged field by field."""
    given = {key: value for key, value in table.items() if key not in _OWN_KEYS}
    usual = _RECIPES.get(recipe, {}) if isinstance(recipe, str) else {}  # type: ignore[call-overload]  # checked later
    if isinstance(given.get("grading"), Mapping) and "grading" in usual:
        given["grading"] = {**usual["grading"], **given["grading"]}
    return {**usual, **given}


def make_judge(settings: VerlSettings, *, workers: int = 1) -> Judge:
    """Return the judge of one of verl's ``workers`` processes, with its share of the run's limits and budget."""
    arguments = {"concurrency": CONCURRENCY, **settings.judge}
    for name in _DIVIDED:
        arguments[name] = _share(arguments.get(name), workers)
    budget = arguments.get("budget")
    if isinstance(budget, Mapping):
        arguments["budget"] = {key: _share(value, workers) for key, value in budget.items()}
    return Judge.of({**arguments, "watchers": [Monitor()] if settings.monitor else ()})


def _share(amount: Any, workers: int) -> Any:
    """Return a worker's share of a limit; what is no limit is returned as it is, for the Judge to refuse."""
    if isinstance(amount, float):
        return amount / workers
    return (
        max(1, amount // workers) if isinstance(amount, int) and not isinstance(amount, bool) and amount > 0 else amount
    )
