"""The judge of an arm: simulated from vices or a profile, or any judge by its name; and the order of arrival."""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

import calipers.testing
from calipers.backends.providers.known import provider_of
from calipers.config.flag_values import names_rubric_file
from calipers.config.option import did_you_mean
from calipers.config.settings import Settings
from calipers.errors import ConfigError
from calipers.interfaces import Backend, Planner
from calipers.judging.judge import Judge
from calipers.judging.loop import Strategies
from calipers.planners.first_asks import shuffled_candidates
from calipers.study.profiles.named import PositionCurve, profile_judge_of
from calipers.study.profiles.profile import shipped_names
from calipers.study.training import vices as own_vices
from calipers.study.training.rollouts import PANEL, RUBRIC, seed_of
from calipers.study.training.settings import Arm, JudgeTable
from calipers.testing import Bias, Fault, SimulatedJudge, Slip, Vice
from calipers.types import Ask, PlanState
from calipers.types.encoding import finite_number

NOT_IN_A_STUDY: Final = {
    "judge": "name the judge under [judges.NAME], as model",
    "ledger": "set learn, for what a ledger teaches about the judge",
    "api_key": "set the provider's environment variable: keys are not written to files",
    "tools": "a study file may come from a stranger, and this acts on the machine",
    **dict.fromkeys(("watchers", "parse"), "it is an object of Python, which TOML cannot hold"),
}
"""Options of Judge that a study's TOML may not set, and what to do instead."""
_FIRST_CAUSES: Final = ("first", "order", "sample", "unresolved")
"""The causes of asks that show the whole group in an order that a planner drew from its content."""
_LARGEST: Final = 1e6
"""The largest number of a vice: opinions are from 0 to 1, and sums of larger ones lose what they are added to."""
_KEY_WITHHELD: Final = ""


class Truth:
    """What simulated judges know: the quality of each row of the current batch by its id, from 0 (wrong) to 1."""

    def __init__(self, wrong: float, right: float) -> None:
        self._values = (wrong, right)
        self.right: Mapping[str, bool] = {}

    def __call__(self, group_id: str, trajectory_id: str) -> float:
        """Return the quality of a row for a judge with vices."""
        del group_id
        return self._values[self.right[trajectory_id]]

    def is_right(self, group_id: str, trajectory_id: str) -> float:
        """Return 1 for a row that is right, else 0: its quality for a judge that has a profile."""
        del group_id
        return float(self.right[trajectory_id])


VICES: Final[Mapping[str, type[Vice]]] = {
    name: kind
    for module in (calipers.testing, own_vices)
    for name, kind in inspect.getmembers(module, inspect.isclass)
    if issubclass(kind, Bias | Slip | Fault) and not inspect.isabstract(kind)
}
"""The vices that a study's TOML can name."""


def vice_of(table: object) -> Vice:
    """Return the vice that a table such as ``{kind = "Noise", sd = 0.1}`` describes. Raises ConfigError."""
    if not isinstance(table, Mapping) or not isinstance(table.get("kind"), str):
        raise ConfigError('a vice must be a table with kind, such as {kind = "Noise", sd = 0.1}')
    name = table["kind"]
    if name not in VICES:
        raise ConfigError(f"there is no vice {name!r:.60}.{did_you_mean(name[:60], VICES)}")
    known = {field.name: str(field.type) for field in fields(VICES[name])}  # type: ignore[arg-type]  # each is a dataclass
    arguments = {key: value for key, value in table.items() if key != "kind"}
    for key in arguments:
        if key not in known:
            raise ConfigError(f"{name} has no {key!r:.60}.{did_you_mean(key[:60], known)}")
    try:
        return VICES[name](**{key: _field(name, key, value, known[key]) for key, value in arguments.items()})
    except (TypeError, ValueError) as error:
        raise ConfigError(f"{name} cannot be made of these values: {error}") from error


def _field(vice: str, key: str, value: Any, kind: str) -> Any:
    if key == "into":
        return vice_of(value)
    if key == "curve":
        if isinstance(value, str) and value in own_vices.CURVES:
            return own_vices.CURVES[value]
        if isinstance(value, list) and value and all(map(_is_number, value)):
            return PositionCurve(tuple(map(float, value)))
        wanted = f"one of {', '.join(own_vices.CURVES)}, or a list of numbers, first position to last"
    elif kind.startswith("tuple["):
        is_one = _is_number if "float" in kind else lambda item: isinstance(item, str)
        if isinstance(value, list) and all(map(is_one, value)):
            return tuple(value)
        wanted = "a list of numbers" if "float" in kind else "a list of texts"
    elif kind.startswith(("float", "int")):
        if _is_number(value) and (isinstance(value, int) or kind.startswith("float")):
            return value
        wanted = f"a number of at most {_LARGEST:g}"
    elif isinstance(value, str) and "Callable" not in kind:
        return value
    else:
        wanted = "left out: it is a function" if "Callable" in kind else "a text"
    raise ConfigError(f"{vice} {key}={value!r:.60}: it must be {wanted}")


def _is_number(value: object) -> bool:
    number = finite_number(value)
    return number is not None and abs(number) <= _LARGEST


def judge_for(arm: Arm, seed: int, truth: Truth, *, folder: Path = Path(), ledger: Path | None = None) -> Judge:
    """Return the judge of an arm's run. Raises ConfigError for settings that cannot work.

    ``truth`` is what it knows if it is simulated; ``folder`` is that of the study's file. An address in the study file
    gets no key: the file may be a stranger's.
    """
    options: dict[str, Any] = {"rubric": RUBRIC, "seed": seed, **arm.options}
    for problem in problems_of_options(arm.options):
        raise ConfigError(problem)
    if arm.options.get("base_url") is not None:
        options["api_key"] = _KEY_WITHHELD
    if isinstance(rubric := arm.options.get("rubric"), str) and names_rubric_file(rubric):
        options["rubric"] = str(_within(folder, rubric))
    options["judge"] = [
        _backend(table, seed if not arm.members else seed_of(seed, PANEL, slot), truth, folder, arm.options)
        for slot, table in enumerate(arm.members or (arm.judge,))
    ]
    if len(options["judge"]) == 1:
        (options["judge"],) = options["judge"]
    if ledger is not None:
        options["ledger"] = ledger
    return (ArrivalJudge if arm.table.order == "arrival" else Judge).of(options)


def problems_of_options(options: Mapping[str, Any]) -> Iterator[str]:
    """Yield what the options of a study's judge may not be, because the file may be a stranger's."""
    for key, value in options.items():
        if key in NOT_IN_A_STUDY:
            yield f"options: a study cannot set {key}: {NOT_IN_A_STUDY[key]}"
        elif key != "base_url" and (address := next(_addresses(value), None)):
            yield f"options: {key} has the address {address!r:.60}; a study names addresses in base_url only"


def _addresses(value: object) -> Iterator[str]:
    """Yield the texts in an option's value that hold an address."""
    match value:
        case str():
            if "://" in value:
                yield value
        case Mapping():
            for inner in value.values():
                yield from _addresses(inner)
        case list() | tuple():
            for item in value:
                yield from _addresses(item)


def _backend(table: JudgeTable, seed: int, truth: Truth, folder: Path, options: Mapping[str, Any]) -> Backend | str:
    kinds = [name for name in ("vices", "profile", "model") if getattr(table, name) is not None]
    if len(kinds) > 1:
        raise ConfigError(f"a judge has one of vices, profile and model; not {' and '.join(kinds)}")
    if table.model is not None:
        if "@" in table.model or urlsplit(table.model).netloc:
            raise ConfigError(f"model={table.model!r:.60}: a study names addresses in options.base_url only")
        kind, colon, argument = table.model.partition(":")
        if colon and "/" not in kind:  # such as scripted:FILE; a colon in vllm/MODEL:TAG is the model's
            return f"{kind}:{_in_folder(argument, folder)}"
        if "/" in kind and provider_of(table.model) is None and {"base_url", "params", "calls"} & options.keys():
            raise ConfigError(f"model={table.model!r:.60}: a study sets no base_url or params of LiteLLM's providers")
        return table.model
    if table.profile is not None:
        return profile_judge_of(_in_folder(table.profile, folder), truth.is_right, seed=seed)
    return SimulatedJudge(truth, *map(vice_of, table.vices or ()), seed=seed)


def _in_folder(argument: str, folder: Path) -> str:
    """Return the argument of a judge in a study's file, with its file in the study's folder, or a profile's name."""
    path, mark, options = argument.partition("?")
    return argument if path in shipped_names() else f"{_within(folder, path)}{mark}{options}"


def _within(folder: Path, path: str) -> Path:
    """Return the path of a file in a study. Raises ConfigError if it is outside its folder, or a pipe or a device."""
    target = folder / path
    if not Path(os.path.realpath(target)).is_relative_to(os.path.realpath(folder)):
        raise ConfigError(f"{path!r:.60}: a study reads files in the study file's folder only")
    if target.exists() and not (target.is_file() or target.is_dir()):
        raise ConfigError(f"{path!r:.60}: is neither a file nor a folder")
    return target


def arrival_places(
    lengths: NDArray[Any],
    size: int,
    generator: np.random.Generator,
    *,
    jitter: float | None,
    correlation: float | None,
) -> list[int]:
    """Return the rows of a batch as they arrive, group by group of ``size`` neighbours.

    Rollouts finish in order of their length plus N(0, ``jitter``²); or in an order whose correlation to length is about
    ``correlation`` in each group; or, without either, at random.
    """
    by_group = lengths.reshape(-1, size).astype(float)
    noise = generator.standard_normal(by_group.shape)
    times = noise
    if jitter is not None:
        times = by_group + jitter * noise
    elif correlation is not None:
        spread = by_group.std(axis=1, keepdims=True)
        standard = (by_group - by_group.mean(axis=1, keepdims=True)) / np.where(spread > 0, spread, 1)
        times = correlation * standard + np.sqrt(1 - correlation**2) * noise
    ties = generator.random(by_group.shape)  # equal lengths without jitter arrive at random, not by index
    order = np.lexsort((ties, times), axis=1)
    places: list[int] = (order + np.arange(len(by_group))[:, None] * size).ravel().tolist()
    return places


@dataclass(frozen=True, slots=True)
class AsArrived:
    """A planner that shows candidates in the order of their arrival where ``inner`` shows an order drawn from content.

    Several orders are those of calipers with another first one. Follow-up questions stay as they are.
    """

    inner: Planner

    def next_asks(self, state: PlanState) -> Sequence[Ask]:
        """Plan the inner planner's questions, with the candidates as they arrived."""
        asks = self.inner.next_asks(state)
        arrived = sorted(range(len(state.view.candidates)), key=lambda item: state.view.candidates[item].members)
        instead = dict(zip(shuffled_candidates(state), arrived, strict=True))
        return [
            replace(ask, order=tuple(instead[item] for item in ask.order))
            if ask.cause in _FIRST_CAUSES and len(ask.order) == len(arrived) and ask.parent is None
            else ask
            for ask in asks
        ]


class ArrivalJudge(Judge):
    """A Judge that shows candidates as they arrived: in the order of the group's trajectories.

    This is what an engine does that judges rollouts as they finish: a study's control, not an option of ``Judge``.
    """

    def _build_strategies(self, settings: Settings) -> Strategies:
        """Return the strategies of a Judge, with the order of arrival in place of the order drawn from content."""
        built = super()._build_strategies(settings)
        return replace(built, planner=AsArrived(built.planner))
