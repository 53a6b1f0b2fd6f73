"""Simulated judges of a training study: from tables of vices to judges that know what is right.

Not responsible for the vices themselves (``calipers.testing``, ``vices``).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any, Final

import calipers.testing
from calipers.config.option import did_you_mean
from calipers.errors import ConfigError
from calipers.study.toml_lines import Place
from calipers.study.training import vices as own_vices
from calipers.testing import Bias, Fault, Slip, Vice
from calipers.types.encoding import finite_number


class Truth:
    """What a simulated judge knows: the quality of each row of the current batch, by its id.

    ``wrong`` and ``right`` are the qualities of such responses, in [0, 1]. ``look_at`` sets the batch.
    """

    def __init__(self, wrong: float, right: float) -> None:
        self._values = (wrong, right)
        self._right: Mapping[str, bool] = {}

    def look_at(self, right: Mapping[str, bool]) -> None:
        """Set which rows of the batch are right, by id, for the simulated judge."""
        self._right = right

    def __call__(self, group_id: str, trajectory_id: str) -> float:
        """Return the quality of a row, as ``calipers.testing.Quality`` wants it."""
        del group_id
        return self._values[self._right[trajectory_id]]

    def is_right(self, group_id: str, trajectory_id: str) -> float:
        """Return 1 for a row that is right, else 0: its quality for a judge that has a profile."""
        del group_id
        return float(self._right[trajectory_id])


def _vice_kinds() -> dict[str, type[Vice]]:
    return {
        name: kind
        for module in (calipers.testing, own_vices)
        for name, kind in inspect.getmembers(module, inspect.isclass)
        if issubclass(kind, Bias | Slip | Fault) and not inspect.isabstract(kind)
    }


VICES: Final = _vice_kinds()
"""The vices that a study's TOML can name."""
NOT_RANDOM: Final = frozenset({
    "Coarse", "HollowAnswers", "Inverted", "LengthBias", "Levels", "PairLevels", "PositionBias",
    "PositionCurve", "Preference", "Ranked", "Severity", "Sycophancy",
})  # fmt: skip
"""Vices that draw nothing: two judges with the same ones answer alike."""
_LARGEST: Final = 1e6
"""The largest number of a vice: opinions are from 0 to 1, and sums of larger ones lose what they are added to."""
_MOST_VICES: Final = 100
_MOST_VALUES: Final = 10_000


def vices_from(tables: Sequence[Mapping[str, Any]]) -> tuple[Vice, ...]:
    """Return the vices that tables of a study's TOML describe, such as ``{kind = "Noise", sd = 0.1}``.

    Raises ConfigError with every unknown kind or field, and every value that the vice does not take.
    """
    if problems := [problem for _, problem in problems_of_vices(tables)]:
        raise ConfigError("; ".join(problems))
    return tuple(_vice(table) for table in tables)


def problems_of_vices(tables: object) -> Iterator[tuple[Place, str]]:
    """Yield what is wrong with the vices that a study's TOML describes, each with its place in the list."""
    if not isinstance(tables, list | tuple):
        yield (), "vices must be a list of tables"
        return
    if len(tables) > _MOST_VICES:
        yield (), f"{len(tables):,} vices; a judge may have {_MOST_VICES}"
        return
    for number, table in enumerate(tables):
        for place, problem in _problems_of_vice(table):
            within = "".join(f", {part}" for part in place if part == "into")
            yield (number, *place), f"vice {number + 1}{within}: {problem}"


def _problems_of_vice(table: object) -> Iterator[tuple[Place, str]]:
    if not isinstance(table, Mapping) or not isinstance(table.get("kind"), str):
        yield (), 'it must be a table with kind, such as {kind = "Noise", sd = 0.1}'
        return
    name = table["kind"]
    if name not in VICES:
        yield ("kind",), f"there is no vice {name!r:.60}.{did_you_mean(name, VICES)}"
        return
    known = {one.name: str(one.type) for one in fields(VICES[name])}  # type: ignore[arg-type]  # each is a dataclass
    wrong = False
    for key, value in table.items():
        if key != "kind":
            for place, problem in _problems_of_field(name, key, value, known):
                wrong = True
                yield (key, *place), problem
    if not wrong and (problem := _refusal(table)):
        yield next(((key,) for key in known if key in table and f"{name} {key} " in problem), ()), problem


def _problems_of_field(vice: str, key: str, value: object, known: Mapping[str, str]) -> Iterator[tuple[Place, str]]:
    """Yield what is wrong with the value of one field of a vice, by the field's type."""
    if key not in known:
        yield (), f"{vice} has no {key!r:.60}.{did_you_mean(key, known)}"
    elif key == "into":
        yield from _problems_of_vice(value)
    elif key == "curve":
        if _curve(value) is None:
            names = ", ".join(own_vices.CURVES)
            yield (), f"curve={value!r:.60}: it must be one of {names}, or a list of numbers, first place to last"
    elif "Callable" in known[key]:
        yield (), f"{vice} {key} is a function, which TOML cannot hold; leave it out"
    elif wanted := _wanted(known[key], value):
        yield (), f"{vice} {key}={value!r:.60}: it must be {wanted}"


def _wanted(type_: str, value: object) -> str:
    """Return what a field of a vice must be, by its ``type_`` as Python writes it; "" if ``value`` is that."""
    match type_.removesuffix(" | None"):
        case "float" if not _is_number(value):
            return f"a number from {-_LARGEST:g} to {_LARGEST:g}"
        case "int" if not _is_number(value) or not isinstance(value, int):
            return f"a whole number from {-_LARGEST:g} to {_LARGEST:g}"
        case "tuple[float, ...]" | "tuple[float, float]" if not _is_list_of(value, _is_number):
            return f"a list of numbers from {-_LARGEST:g} to {_LARGEST:g}"
        case "tuple[str, ...]" if not _is_list_of(value, lambda one: isinstance(one, str)):
            return "a list of texts"
        case other if other.startswith(("Literal", "TextFeature", "str")) and not isinstance(value, str):
            return "a text"
    return ""


def _is_number(value: object) -> bool:
    number = finite_number(value)
    return number is not None and abs(number) <= _LARGEST


def _is_list_of(value: object, is_one: Callable[[object], bool]) -> bool:
    return isinstance(value, list | tuple) and len(value) <= _MOST_VALUES and all(map(is_one, value))


def _refusal(table: Mapping[str, Any]) -> str:
    """Return why a vice with fields of the right types cannot be made; "" if it can."""
    try:
        _vice(table)
    except ConfigError as error:
        return str(error)
    except (TypeError, ValueError) as error:
        return f"{table['kind']} cannot be made of these values: {error}"
    return ""


def _vice(table: Mapping[str, Any]) -> Vice:
    return VICES[table["kind"]](**{key: _value(key, value) for key, value in table.items() if key != "kind"})


def _value(key: str, value: Any) -> Any:
    if key == "curve":
        return _curve(value)
    if key == "into":
        return _vice(value)
    return tuple(value) if isinstance(value, list) else value


def _curve(value: Any) -> Any:
    """Return the curve of a position bias that a study's TOML names or lists; None if it is none."""
    if isinstance(value, list) and value and _is_list_of(value, _is_number):
        return own_vices.Curve(tuple(float(one) for one in value))
    return own_vices.CURVES.get(value) if isinstance(value, str) else None
