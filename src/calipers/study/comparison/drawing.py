"""Draws a comparison's figures: what rewrites and features earn from each judge, and the drift that tier 1 predicts.

Needs matplotlib, which is imported when a figure is drawn. Not responsible for measuring (``figures``), or for writing
files (``study.figures``).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from calipers.errors import ConfigError, InputError
from calipers.study.comparison.folder import RESULTS
from calipers.study.figures import COLOURS, as_text, matplotlib_figure_class
from calipers.types.encoding import measured_number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DRAWN: Final = {
    "rewrites": "score that a rewrite adds to the same answer",
    "per_unit": "score that a unit of a feature adds",
    "drift": "drift in the first step of GRPO, predicted by tier 1",
}
"""What can be drawn of a comparison, with the label of its axis."""
_Value: TypeAlias = tuple[str, str, float, float, float]
_FORMAT: Final = "calipers-comparison/1"
_ROW: Final = 0.17
_MARKERS: Final = "o^sDvP*X"
_MOST: Final = 400


def read_comparison(path: str) -> Mapping[str, Any] | None:
    """Return the result file of a comparison at ``path``, or in that folder; None if it is something else.

    Raises InputError for one that another version wrote.
    """
    file = Path(path) / RESULTS if Path(path).is_dir() else Path(path)
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    form = str(found.get("format", "")) if isinstance(found, dict) else ""
    if not form.startswith("calipers-comparison/"):
        return None
    if form != _FORMAT:
        raise InputError(f"{file}: its format {form!r:.60} is not {_FORMAT}: another version wrote it")
    return found  # type: ignore[no-any-return]


def draw_comparison(found: Mapping[str, Any], name: str, *, where: str = "the comparison") -> Figure:
    """Return a matplotlib figure of ``name`` in a comparison's result file: a point and an interval for each judge.

    Raises ConfigError for a name that cannot be drawn, without matplotlib, and if nothing of it was measured; and
    InputError for a damaged file, which ``where`` names.
    """
    if name not in DRAWN:
        raise ConfigError(f"a comparison has no figure {name!r}; it has {', '.join(DRAWN)}")
    values, judges = _read(found, name, where)
    if not values:
        raise ConfigError(f"nothing of {name} was measured, so there is nothing to draw")
    if len(values) > _MOST:
        raise ConfigError(f"{len(values)} figures of {name} cannot be told apart in one drawing; at most {_MOST} can")
    labels = list(dict.fromkeys(label for _, label, *_ in values))
    figure = matplotlib_figure_class()(figsize=(7.2, 1.6 + _ROW * (len(labels) + len(values))), layout="constrained")
    axes = figure.subplots()
    apart = 0.8 / len(judges)
    for judge, label, value, low, high in values:
        number = judges.index(judge)
        at = labels.index(label) + apart * (number - (len(judges) - 1) / 2)
        axes.plot([low, high], [at, at], color=COLOURS[number % len(COLOURS)], linewidth=1.4)
        axes.plot([value], [at], **_mark(number))
    for number, judge in enumerate(judges):
        axes.plot([], [], **_mark(number), label=as_text(judge))
    axes.set_yticks(range(len(labels)), [as_text(label.replace("_", " ")) for label in labels])
    _finish(axes, DRAWN[name], str(found.get("title") or ""))
    figure.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=8)
    return figure


def measured_in(found: Mapping[str, Any], where: str) -> set[str]:
    """Return what of a comparison's result file can be drawn. Raises InputError for a damaged file."""
    return {name for name in DRAWN if _read(found, name, where)[0]}


def _read(found: Mapping[str, Any], name: str, where: str) -> tuple[list[_Value], list[str]]:
    """Return the values of ``name`` in a comparison's result file, and its judges. Raises InputError."""
    try:
        return _values(found, name), [str(one["name"]) for one in found["cells"]]
    except KeyError as error:
        raise InputError(f"{where}: the file is damaged: a cell has no {error}") from error
    except (TypeError, AttributeError, ValueError) as error:
        raise InputError(f"{where}: the file is damaged: {error}") from error


def _mark(number: int) -> dict[str, Any]:
    marker = _MARKERS[number // len(COLOURS) % len(_MARKERS)]
    return {"marker": marker, "linestyle": "", "color": COLOURS[number % len(COLOURS)], "markersize": 4}


def _finish(axes: Axes, label: str, title: str) -> None:
    axes.axvline(0, color="#333333", linewidth=0.8)
    axes.invert_yaxis()
    axes.set_xlabel(f"{label}; lines: 95 % intervals")
    axes.set_title(as_text(title), loc="left", fontsize=11)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="x", color="#dddddd", linewidth=0.6)


def _values(found: Mapping[str, Any], name: str) -> list[_Value]:
    """Return judge, label, value and bounds of each figure that was measured."""
    values = []
    for cell in found["cells"]:
        figures = (cell["drift"] or {}).get("by_feature", {}) if name == "drift" else cell[name]
        for label, one in figures.items():
            value, low, high = (_number(one[key]) for key in ("value", "low", "high"))
            if value is not None:
                values.append(
                    (cell["name"], label, value, value if low is None else low, value if high is None else high)
                )
    return values


def _number(value: object) -> float | None:
    """Return a figure of a comparison, None if it is not known. Raises ValueError for what is no number."""
    number = measured_number(value)
    if number is None and value is not None:
        raise ValueError(f"{value!r:.60} is no number")
    return number
