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
from calipers.rubric.scaffold import Schedule
from calipers.trainers.run import PATIENCE, Lasting
from calipers.types.encoding import finite_number
from calipers.verifiers.constraints import RulesAs

CONCURRENCY: Final = 128
"""The most concurrent judge calls in the whole run, unless ``concurrency`` is given."""

_PYTHON_ONLY: Final = frozenset({"parse", "watchers"})
_DIVIDED: Final = ("concurrency", "requests_per_minute", "tokens_per_minute")

Recipe: TypeAlias = Literal["rubric_batch", "verif"]
_RECIPES: Final[Mapping[Recipe, Mapping[str, Any]]] = {
    "rubric_batch": {"protocol": "checklist", "grading": {"normaliser": "ruscarl_batch", "reward": "score"}},
    "verif": {"protocol": "checklist", "grading": {"normaliser": "all_or_nothing"}},
}
"""A recipe's defaults for a Judge's options (``verl.eval``)."""


@dataclass(frozen=True, slots=True)
class VerlSettings:
    """Settings for verl. ``judge`` are a Judge's options; the other fields describe groups and rows.

    ``min_group`` is the number of a prompt's rollouts that must be scored before any of them is trained on.
    ``patience`` counts the lost groups of one worker. ``monitor`` watches the judge and writes alarms to stderr.
    ``reference`` adds each row's ``reward_model.ground_truth`` to the question. ``scaffold`` has the fields of a
    Schedule, and ``run`` and ``discreet``. ``recipe`` selects a way to score rows other than plain comparison, and
    ``rules`` what the recipe does with rules. ``weigh`` puts the weight of each group's advantages beside its rewards.
    """

    judge: Mapping[str, Any]
    min_group: int = 2
    reference: bool = False
    scaffold: Mapping[str, Any] | None = None
    recipe: Recipe | None = None
    rules: RulesAs = "code"
    patience: Lasting = PATIENCE
    monitor: bool = False
    weigh: bool = False

    @property
    def absolute(self) -> bool:
        """Return whether the judge also scores single rollouts."""
        return self.judge.get("absolute") is True or self.recipe is not None


_OWN_KEYS: Final = frozenset(one.name for one in fields(VerlSettings)) - {"judge"}


def read_settings(table: object) -> VerlSettings:
    """Return the settings in the plain table for verl. Raises ConfigError for unknown keys and invalid values."""
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
    for key in table:
        _require_known(str(key))
    if not isinstance(table.get("judge"), str | list) or not table["judge"]:
        raise ConfigError(f"+calipers.judge={table.get('judge')!r}: it must be a judge's name, as in openai/gpt-5-mini")
    # +calipers.patience=null is for ever; any other null is the default.
    given = {
        key: value for key, value in table.items() if key in _OWN_KEYS and (value is not None or key == "patience")
    }
    require_one_of(get_args(Recipe), recipe=given.get("recipe", "verif"))
    require_one_of(get_args(RulesAs), rules=given.get("rules", "code"))
    settings = VerlSettings(_with_recipe(table, given.get("recipe")), **given)
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
    for name in ("reference", "monitor", "weigh"):
        _require_flag(name, getattr(settings, name))
    return settings


def _with_recipe(table: Mapping[str, Any], recipe: Recipe | None) -> dict[str, Any]:
    """Return a Judge's options: those of the recipe, overridden by the table. ``grading`` is merged field by field."""
    given = {key: value for key, value in table.items() if key not in _OWN_KEYS}
    known = _RECIPES[recipe] if recipe is not None else {}
    if isinstance(given.get("grading"), Mapping) and "grading" in known:
        given["grading"] = {**known["grading"], **given["grading"]}
    return {**known, **given}


def _require_known(key: str) -> None:
    known = (flat_options().keys() | _OWN_KEYS) - _PYTHON_ONLY
    if key in _PYTHON_ONLY:
        raise ConfigError(f"+calipers.{key}: this option is a Python object, which verl's configuration cannot hold")
    if key not in known:
        raise ConfigError(f"+calipers.{key}: unknown.{did_you_mean(key, known)}")


def _require_flag(name: str, value: Any) -> None:
    if not isinstance(value, bool):
        raise ConfigError(f"+calipers.{name}={value!r}: it must be true or false")


@dataclass(frozen=True, slots=True)
class Scaffold:
    """How much of a row's rubric verl's training prompts contain, and how (``calipers.rubric.scaffold.scaffolded``)."""

    schedule: Schedule
    run: str = ""
    discreet: bool = True


def read_scaffold(table: object, *, total_steps: int | None) -> Scaffold:
    """Return the scaffold in the plain table for verl. ``total_steps``, the trainer's, is the default for the table's.

    Raises ConfigError for an invalid table.
    """
    if not isinstance(table, Mapping):
        raise ConfigError(f"+calipers.scaffold={table!r}: it must be a table, as in +calipers.scaffold.total_steps=350")
    known = [*(one.name for one in fields(Schedule)), "run", "discreet"]
    for key in table:
        if key not in known:
            raise ConfigError(f"+calipers.scaffold.{key}: unknown. Known: {', '.join(known)}.")
    given = {"total_steps": total_steps, **table}
    run, discreet = str(given.pop("run", "")), given.pop("discreet", True)
    _require_flag("scaffold.discreet", discreet)
    if given["total_steps"] is None:
        raise ConfigError(
            "+calipers.scaffold needs the number of steps over which it falls to 0, as in "
            "+calipers.scaffold.total_steps=350, because trainer.total_training_steps is not set"
        )
    for name in given.keys() & {"steepness", "midpoint", "power"}:
        if finite_number(given[name]) is None:
            raise ConfigError(f"+calipers.scaffold.{name}={given[name]!r}: it must be a number")
    require_whole(**{name: given[name] for name in ("total_steps", "full") if name in given})
    return Scaffold(Schedule(**given), run=run, discreet=discreet)


def make_judge(settings: VerlSettings, *, workers: int = 1, router: str | None = None) -> Judge:
    """Return the judge of one of verl's ``workers`` processes, with its share of the run's limits and budget.

    ``router`` is the address of verl's router of reward-model servers. Raises ConfigError for invalid settings.
    """
    arguments = {"concurrency": CONCURRENCY, **with_router(settings.judge, router)}
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


def with_router(options: Mapping[str, Any], address: str | None) -> dict[str, Any]:
    """Return a Judge's options with the ``address`` (host:port) of verl's router for each ``base_url=router``.

    Raises ConfigError if there is one, and verl has no router.
    """
    urls = options.get("base_url")
    if isinstance(urls, Mapping):
        return {**options, "base_url": {judge: _routed(url, address) for judge, url in urls.items()}}
    return {**options, "base_url": _routed(urls, address)} if urls is not None else dict(options)


def _routed(url: Any, address: str | None) -> Any:
    if url != "router":
        return url
    if not address:
        raise ConfigError(
            "+calipers.base_url=router: verl serves no judge here. Set reward.reward_model.enable=true, "
            "reward.reward_model.model_path and reward.reward_model.rollout.name, or give the address of a server"
        )
    return f"http://{address}/v1"
