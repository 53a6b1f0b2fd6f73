"""Read the ``calipers`` table of verl's configuration: the judge's options, and those about groups.

Pure except for making the Judge. Not responsible for where verl stores the table (``verl.agent_loop``,
``verl.reward``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Final, Literal, TypeAlias, get_args

from calipers.config.arguments import require_above_zero, require_one_of, require_text, require_whole
from calipers.config.grouped_options import Reward
from calipers.config.option import did_you_mean
from calipers.config.options import flat_options
from calipers.errors import ConfigError
from calipers.judging.judge import Judge
from calipers.monitoring.monitor import Monitor
from calipers.rubric.scaffold import Schedule
from calipers.trainers.verl.reward_model import with_router
from calipers.trainers.weights import undone_by_division
from calipers.verifiers.constraints import RulesAs

CONCURRENCY: Final = 128
"""The most concurrent judge calls in the whole run, unless ``concurrency`` is given."""

_PYTHON_ONLY: Final = frozenset({"parse", "observer", "watchers"})
_DIVIDED: Final = ("concurrency", "requests_per_minute", "tokens_per_minute")

WEIGHT: Final = "calipers_weight"
"""The name under which the weight of a rollout's advantage is logged with its reward."""

SIGNAL: Final = "calipers_signal"
"""The name under which verl's filter of groups finds the reward, or 0.0 for a whole group whose scores are all noise.
"""

Recipe: TypeAlias = Literal["rubric_batch", "verif"]
_RECIPES: Final[Mapping[Recipe, Mapping[str, Any]]] = {
    "rubric_batch": {"protocol": "checklist", "grading": {"normaliser": "ruscarl_batch", "reward": "score"}},
    "verif": {"protocol": "checklist", "grading": {"normaliser": "all_or_nothing"}},
}
"""A recipe's defaults for a Judge's options (``verl.recipes``)."""


@dataclass(frozen=True, slots=True)
class VerlSettings:
    """Settings for verl. ``judge`` are a Judge's options; the other fields describe groups and rows.

    ``min_group`` is the number of a prompt's rollouts that must be scored before any of them is trained on. The run
    ends after ``patience`` lost groups in a row in one worker. ``monitor`` watches the judge and writes alarms to
    stderr. ``reference`` adds each row's ``reward_model.ground_truth`` to the question. ``wait`` is for the reward
    manager only: the seconds after which a group is judged without its missing rollouts. ``scaffold`` is for the agent
    loops (``read_scaffold``). ``recipe`` selects a way to score rows other than plain comparison, and ``rules`` what
    the recipe does with rules (``verl.recipes``). ``weigh`` puts the weight of each group's advantages beside its
    rewards (``verl.weighted``). ``shadow`` is the folder of the records of ``ShadowManager``.
    """

    judge: Mapping[str, Any]
    min_group: int = 2
    reference: bool = False
    wait: float = 600.0
    scaffold: Mapping[str, Any] | None = None
    recipe: Recipe | None = None
    rules: RulesAs = "code"
    patience: int | None = None
    monitor: bool = False
    weigh: bool = False
    shadow: str | None = None

    @property
    def absolute(self) -> bool:
        """Return whether the judge also scores single rollouts."""
        return self.judge.get("absolute") is True or self.recipe is not None


_SCAFFOLD_SWITCHES: Final = ("discreet", "participate_training")
_OWN_KEYS: Final = frozenset(one.name for one in fields(VerlSettings)) - {"judge"}


def read_settings(table: object) -> VerlSettings:
    """Return the settings in the plain table for verl.

    Raises ConfigError for a missing table, unknown keys and invalid values.
    """
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
    ours = {key: value for key, value in table.items() if key in _OWN_KEYS and value is not None}
    require_one_of(get_args(Recipe), recipe=ours.get("recipe", "verif"))
    require_one_of(get_args(RulesAs), rules=ours.get("rules", "code"))
    settings = VerlSettings(_with_recipe(table, ours.get("recipe")), **ours)
    if settings.rules != "code" and settings.recipe != "verif":
        raise ConfigError(f"+calipers.rules={settings.rules}: only +calipers.recipe=verif uses rules")
    require_whole(min_group=settings.min_group, patience=settings.patience)
    require_above_zero(min_group=settings.min_group, wait=settings.wait, patience=settings.patience)
    if settings.min_group < 2 and not settings.absolute:
        raise ConfigError(
            f"+calipers.min_group={settings.min_group}: a single rollout has nothing to be compared with, and verl "
            "would use its reward as its advantage; make it 2 or more"
        )
    require_text(shadow=settings.shadow)
    for name, flag in (
        ("reference", settings.reference),
        ("monitor", settings.monitor),
        ("weigh", settings.weigh),
    ):
        if not isinstance(flag, bool):
            raise ConfigError(f"+calipers.{name}={flag!r}: it must be true or false")
    return settings


def _with_recipe(table: Mapping[str, Any], recipe: Recipe | None) -> dict[str, Any]:
    """Return a Judge's options: those of the recipe, overridden by the table. ``grading`` is merged field by field."""
    given = {key: value for key, value in table.items() if key not in _OWN_KEYS}
    known = _RECIPES[recipe] if recipe is not None else {}
    if isinstance(given.get("grading"), Mapping) and "grading" in known:
        given["grading"] = {**known["grading"], **given["grading"]}
    return {**known, **given}


@dataclass(frozen=True, slots=True)
class Scaffold:
    """How much of a row's rubric verl's training prompts contain, and how (``calipers.rubric.scaffold.scaffolded``)."""

    schedule: Schedule
    run: str = ""
    discreet: bool = True
    participate_training: bool = False


def read_scaffold(table: object, *, total_steps: int | None) -> Scaffold:
    """Return the scaffold in the plain table for verl, which has the fields of a Schedule, and ``run``,
    ``discreet`` and ``participate_training``.

    ``total_steps`` is the trainer's number of steps, and the default for the table's. Raises ConfigError for an invalid
    table.
    """
    if not isinstance(table, Mapping):
        raise ConfigError(f"+calipers.scaffold={table!r}: it must be a table, as in +calipers.scaffold.total_steps=350")
    known = [one.name for one in fields(Schedule)] + ["run", *_SCAFFOLD_SWITCHES]
    for key in table:
        if key not in known:
            raise ConfigError(f"+calipers.scaffold.{key}: unknown. Known: {', '.join(known)}.")
    given = {"total_steps": total_steps, **table}
    run = given.pop("run", "")
    switches = {name: given.pop(name) for name in _SCAFFOLD_SWITCHES if name in given}
    if given["total_steps"] is None:
        raise ConfigError(
            "+calipers.scaffold needs the number of steps over which it falls to 0, as in "
            "+calipers.scaffold.total_steps=350, because trainer.total_training_steps is not set"
        )
    numbers = {name: given[name] for name in ("steepness", "midpoint", "power") if name in given}
    if wrong := [
        name for name, value in numbers.items() if isinstance(value, bool) or not isinstance(value, int | float)
    ]:
        raise ConfigError(f"+calipers.scaffold.{wrong[0]}={numbers[wrong[0]]!r}: it must be a number")
    require_whole(**{name: given[name] for name in ("total_steps", "full") if name in given})
    for name, value in switches.items():
        if not isinstance(value, bool):
            raise ConfigError(f"+calipers.scaffold.{name}={value!r}: it must be true or false")
    return Scaffold(Schedule(**given), run=str(run), **switches)


def _require_known(key: str) -> None:
    known = (flat_options().keys() | _OWN_KEYS) - _PYTHON_ONLY
    if key in _PYTHON_ONLY:
        raise ConfigError(f"+calipers.{key}: this option is a Python object, which verl's configuration cannot hold")
    if key not in known:
        raise ConfigError(f"+calipers.{key}: unknown.{did_you_mean(key, known)}")


def make_judge(settings: VerlSettings, *, workers: int = 1, router: str | None = None) -> Judge:
    """Return the judge of one of verl's ``workers`` processes, with its share of the run's limits and budget.

    ``router`` is the address of verl's router of reward-model servers, for ``base_url=router``.
    Raises ConfigError, before any token is paid for, for invalid settings.
    """
    arguments = {"concurrency": CONCURRENCY, **with_router(settings.judge, router)}
    for name in _DIVIDED:
        arguments[name] = _share(arguments.get(name), workers)
    budget = arguments.get("budget")
    if isinstance(budget, Mapping):
        arguments["budget"] = {key: _share(value, workers) for key, value in budget.items()}
    return Judge.of({**arguments, "watchers": [Monitor()] if settings.monitor else ()})


def _share(amount: Any, workers: int) -> Any:
    match amount:
        case bool():
            return amount
        case int() if amount > 0:
            return max(1, amount // workers)
        case float():
            return amount / workers
    return amount


def undone_rewards(reward: Reward, *, estimator: str, divides: bool) -> str | None:
    """Return a warning if verl's division undoes what ``reward`` does to each group.

    ``estimator`` is verl's ``adv_estimator``, and ``divides`` its ``norm_adv_by_std_in_grpo``.
    """
    if not divides or estimator not in {"grpo", "grpo_vectorized", "grpo_passk", "gdpo"}:
        return None
    instead = "Set algorithm.norm_adv_by_std_in_grpo=false, or weight advantages: +calipers.weigh=true"
    return undone_by_division(reward.kind, instead=instead)
