"""Simulated judges of a training study: from tables of vices to judges that know what is right.

Not responsible for the vices themselves (``calipers.testing``, ``vices``).
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, Final

import calipers.testing
from calipers.config.option import did_you_mean
from calipers.errors import ConfigError
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


def vices_from(tables: Sequence[Mapping[str, Any]]) -> tuple[Vice, ...]:
    """Return the vices that tables of a study's TOML describe, such as ``{kind = "Noise", sd = 0.1}``.

    Raises ConfigError with every unknown kind or field, and every value that the vice does not take.
    """
    if not isinstance(tables, list | tuple):
        raise ConfigError("vices must be a list of tables")
    made, problems = [], []
    for number, table in enumerate(tables, 1):
        try:
            made.append(_vice(table, f"vice {number}"))
        except ConfigError as error:
            problems.append(str(error))
    if problems:
        raise ConfigError("; ".join(problems))
    return tuple(made)


def _vice(table: object, where: str) -> Vice:
    if not isinstance(table, Mapping) or not isinstance(table.get("kind"), str):
        raise ConfigError(f'{where}: it must be a table with kind, such as {{kind = "Noise", sd = 0.1}}')
    name = table["kind"]
    if name not in VICES:
        raise ConfigError(f"{where}: there is no vice {name!r}.{did_you_mean(name, VICES)}")
    kind = VICES[name]
    given = {key: value for key, value in table.items() if key != "kind"}
    known = {one.name for one in fields(kind)}  # type: ignore[arg-type]  # every vice is a dataclass
    if unknown := [f"{name} has no {key!r}.{did_you_mean(key, known)}" for key in given if key not in known]:
        raise ConfigError(f"{where}: {' '.join(unknown)}")
    values = {key: _value(key, value, where) for key, value in given.items()}
    try:
        return kind(**values)
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from error
    except (TypeError, ValueError) as error:
        raise ConfigError(f"{where}: {name} cannot be made of these values: {error}") from error


def _value(key: str, value: Any, where: str) -> Any:
    if key == "curve":
        return _curve(value, where)
    if key == "into":
        return _vice(value, f"{where}, into")
    return tuple(value) if isinstance(value, list) else value


def _curve(value: Any, where: str) -> Any:
    if isinstance(value, list) and value:
        points = tuple(finite_number(one) for one in value)
        if None not in points:
            return own_vices.Curve(tuple(point for point in points if point is not None))
    if isinstance(value, str) and value in own_vices.CURVES:
        return own_vices.CURVES[value]
    names = ", ".join(own_vices.CURVES)
    raise ConfigError(f"{where}: curve={value!r}: it must be one of {names}, or a list of numbers, first place to last")
