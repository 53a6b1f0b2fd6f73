"""The tables that ``calipers study compare`` prints. Not responsible for any figure (``study.comparison``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from calipers.cli.messages import wrap_for_console
from calipers.cli.tables import print_figures

if TYPE_CHECKING:
    from rich.console import Console

    from calipers.calibration.costs import Cost
    from calipers.study.comparison.figures import CellFigures, ComparisonFigures
    from calipers.study.profiles.figures import Figure

_WIDTH: Final = 120
_MOST: Final = 12
_FEATURES: Final = ("length", "markdown", "confidence", "flattery")


def print_comparison(found: ComparisonFigures, *, title: str = "") -> None:
    """Print a command's comparison of judges to stdout: scores, rewrites, drift, agreement, criteria, cost."""
    from calipers.cli.terminal import table_console  # noqa: PLC0415 - --help stays quick

    console = table_console(width=_WIDTH)
    if title:
        console.print(title, style="bold", markup=False)
    cells = [one for one in found.cells if one.distribution.scores]
    _print_scores(console, cells)
    _print_repeats(console, cells)
    _print_rewrites(console, cells)
    _print_units(console, cells)
    _print_drift(console, cells)
    _print_pairs(console, found)
    _print_criteria(console, found)
    _print_moved(console, found)
    _print_cost(console, cells)
    if found.reproduced is not None:
        equal, recorded = found.reproduced
        console.print(f"\nScores computed from raw replies: {equal} of {recorded} equal those recorded", markup=False)
    for line in found.differing[:_MOST]:
        console.print(wrap_for_console(console, f"- {line}"), markup=False, soft_wrap=True)
    _print_failed(console, found.cells)


def _print_scores(console: Console, cells: Sequence[CellFigures]) -> None:
    rows = []
    for one in cells:
        shown = one.distribution
        scale = one.profile.scale if one.profile else None
        rows.append(
            (
                one.name,
                f"{one.groups:,}",
                f"{shown.scores:,}",
                _number(shown.mean),
                _number(shown.sd),
                *(_number(value, 2) for value in shown.quantiles),
                _value(scale.ties if scale else None, 2),
                _value(one.profile.failures.rate if one.profile else None, 2),
            )
        )
    heads = ("groups", "scores", "mean", "sd", "low", "25 %", "median", "75 %", "high", "ties", "failed")
    print_figures(console, "Scores of single calls, 0 to 1", ("judge",), heads, rows)


def _print_repeats(console: Console, cells: Sequence[CellFigures]) -> None:
    rows = []
    for one in cells:
        if one.profile is None:
            continue
        repeats, place, gold = one.profile.repeatability, one.profile.position, one.profile.agreement
        shown = (repeats.noise, repeats.order_noise, repeats.reliability, place.slope, place.first, gold.pearson)
        if any(figure.known for figure in shown):
            rows.append((one.name, *(_value(figure) for figure in shown)))
    if rows:
        heads = ("noise", "between orders", "reliability", "last less first", "first extra", "Pearson with gold")
        console.print()
        print_figures(console, "Repeatability, position bias, agreement with gold", ("judge",), heads, rows)


def _print_rewrites(console: Console, cells: Sequence[CellFigures]) -> None:
    names = list(dict.fromkeys(name for one in cells for name in one.preferences.rewrites))
    rows = [
        (one.name, *(_with_interval(one.preferences.rewrites.get(name)) for name in names))
        for one in cells
        if one.preferences.rewrites
    ]
    if rows:
        console.print()
        title = "What a rewrite adds to the score of the same answer (± half of the 95 % interval)"
        print_figures(console, title, ("judge",), [name.replace("_", " ") for name in names], rows)


def _print_units(console: Console, cells: Sequence[CellFigures]) -> None:
    rows = [
        (one.name, *(_with_interval(one.preferences.per_unit.get(name)) for name in _FEATURES))
        for one in cells
        if any(figure.known for figure in one.preferences.per_unit.values())
    ]
    if rows:
        console.print()
        title = "What a unit of a feature adds, the others equal (length: a doubling)"
        print_figures(console, title, ("judge",), _FEATURES, rows)


def _print_drift(console: Console, cells: Sequence[CellFigures]) -> None:
    rows = []
    names: list[str] = []
    for one in cells:
        if one.drift is None:
            continue
        names = names or list(one.drift.by_feature)
        found = [one.drift.by_feature.get(name) for name in names]
        rows.append((one.name, *map(_with_interval, found)))
    if rows:
        console.print()
        title = "Drift that tier 1 predicts for the first step of GRPO, cov(feature, advantage)"
        print_figures(console, title, ("judge",), names, rows)
    notes = dict.fromkeys(note for one in cells if one.drift for note in one.drift.assumed)
    if notes:
        text = f"Assumed where answers do not show it: {'; '.join(notes)}"
        console.print(wrap_for_console(console, text), markup=False, soft_wrap=True)


def _print_pairs(console: Console, found: ComparisonFigures) -> None:
    if not found.pairs:
        return
    console.print()
    shown = sorted(found.pairs, key=lambda one: (one.tau_b.value is None, one.tau_b.value or 0.0))[:_MOST]
    rows = [
        (
            f"{one.first} and {one.second}",
            _with_interval(one.tau_b),
            _value(one.pearson),
            _number(one.equal, 2),
            _number(one.apart),
            f"{one.answers:,}",
        )
        for one in shown
    ]
    left = f"; the {_MOST} of {len(found.pairs)} pairs that agree least" if len(found.pairs) > _MOST else ""
    heads = ("tau-b", "Pearson", "equal", "apart", "answers")
    print_figures(console, f"Agreement within groups, on mean scores{left}", ("judges",), heads, rows)
    if found.alpha is not None:
        console.print(f"Krippendorff's alpha of all scores: {found.alpha:.3f}", markup=False)


def _print_criteria(console: Console, found: ComparisonFigures) -> None:
    disputed = [one for one in found.criteria if one.disagreement > 0]
    if not found.criteria:
        return
    console.print()
    rows = [
        (one.criterion, f"{one.disagreement:.3f}", _number(one.alpha), f"{one.answers:,}") for one in disputed[:_MOST]
    ]
    title = f"Criteria that judges disagree on: {len(disputed)} of {len(found.criteria)}"
    if not rows:
        console.print(title, markup=False)
        return
    print_figures(console, title, ("criterion",), ("disagreement", "alpha", "answers"), rows)


def _print_moved(console: Console, found: ComparisonFigures) -> None:
    if not found.moved:
        return
    console.print("\nAnswers that judges score most differently", markup=False)
    for one in found.moved[:5]:
        place = one.group_id if one.group_id == one.id else f"{one.group_id}, {one.id}"
        scores = "; ".join(f"{name} {value:.3f}" for name, value in one.scores.items())
        console.print(wrap_for_console(console, f"- {place}: {scores}"), markup=False, soft_wrap=True)


def _print_cost(console: Console, cells: Sequence[CellFigures]) -> None:
    rows = []
    for one in cells:
        for cost, what in ((one.cost, "groups"), (one.rewritten_cost, "rewrites")):
            if cost.calls:
                rows.append((one.name, what, *_cost(cost)))
    if rows:
        console.print()
        print_figures(console, "Cost", ("judge", "of"), ("calls", "tokens in", "tokens out", "$"), rows)


def _cost(cost: Cost) -> tuple[str, ...]:
    tokens = ("-" if one is None else f"{one:,.0f}" for one in (cost.input_tokens, cost.output_tokens))
    return f"{cost.calls:,.0f}", *tokens, "-" if cost.cost_usd is None else f"{cost.cost_usd:.4f}"


def _print_failed(console: Console, cells: Sequence[CellFigures]) -> None:
    for one in cells:
        if one.failed:
            text = f"Failed: {one.name}: {one.failed}"
            console.print(wrap_for_console(console, text), markup=False, soft_wrap=True)


def _with_interval(figure: Figure | None) -> str:
    if figure is None or figure.value is None:
        return "-"
    if figure.low is None or figure.high is None:
        return _value(figure, signed=True)
    return f"{_value(figure, signed=True)} ± {(figure.high - figure.low) / 2:.3f}"


def _value(figure: Figure | None, digits: int = 3, *, signed: bool = False) -> str:
    if figure is None or figure.value is None:
        return "-"
    return f"{round(figure.value, digits) + 0.0:{'+' if signed else ''}.{digits}f}"  # + 0.0: no -0.000


def _number(value: float | None, digits: int = 3) -> str:
    return "-" if value is None else f"{value:.{digits}f}"
