"""Figures of a calibration. Needs matplotlib, which is imported when a figure is drawn.

Not responsible for any number (``curves``, ``repeats``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from calipers.calibration.judges import JudgeFigures
from calipers.errors import ConfigError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_HONEST: Final = (0.8, 1.25)
"""Between these ratios, ``calibrate`` reports no finding."""
_MARKERS: Final = "osD^vPX"
_LONGEST: Final = 40


def calibration_figure(judges: Sequence[JudgeFigures]) -> Figure:
    """Return a figure of calibrated judges: fidelity against calls, and the ratio that tells honest standard errors.

    Raises ConfigError if matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415 - an extra, and slow to import
    except ImportError:
        raise ConfigError("plots need matplotlib: pip install 'calipers[study]'") from None
    figure = Figure(figsize=(10, 4.2 + 0.12 * len(judges)), layout="constrained")
    left, right = figure.subplots(1, 2)
    _draw_fidelity(left, judges)
    _draw_honesty(right, judges)
    return figure


def _draw_fidelity(axes: Axes, judges: Sequence[JudgeFigures]) -> None:
    most = 1
    for place, one in enumerate(judges):
        if one.by_calls:
            calls = [point.calls for point in one.by_calls]
            levels = [point.advantage_fidelity for point in one.by_calls]
            axes.plot(calls, levels, marker=_MARKERS[place % len(_MARKERS)], label=_label(one))
            most = max(most, *calls)
    axes.set_xlabel("calls a group")
    axes.set_ylabel("fidelity to gold")
    axes.set_title("Fidelity against calls")
    if most > 1:
        axes.set_xscale("log", base=2)
        ticks = [2**power for power in range(most.bit_length()) if 2**power <= most]
        axes.set_xticks(ticks, [str(tick) for tick in ticks])
    axes.grid(alpha=0.3)
    if axes.lines:
        axes.legend(fontsize="small")


def _draw_honesty(axes: Axes, judges: Sequence[JudgeFigures]) -> None:
    known = [(_label(one), one.stderr_ratio) for one in judges if one.stderr_ratio is not None and one.stderr_ratio > 0]
    axes.set_title("Are standard errors honest?")
    if not known:
        axes.set_axis_off()
        axes.text(0.5, 0.5, "unknown: no judge was asked\nfour times about a group", ha="center", va="center")
        return
    places = range(len(known))
    axes.axvspan(*_HONEST, alpha=0.15, color="tab:green")
    axes.axvline(1.0, color="0.4", linewidth=1)
    axes.plot([ratio for _, ratio in known], list(places), "o")
    axes.set_yticks(list(places), [label for label, _ in known])
    axes.set_ylim(len(known) - 0.5, -0.5)
    axes.set_xscale("log")
    low, high = min(0.5, *(ratio for _, ratio in known)), max(2.0, *(ratio for _, ratio in known))
    axes.set_xlim(low / 1.1, high * 1.1)
    ticks = [one for one in (0.1, 0.2, 0.5, 1, 2, 5, 10) if low <= one <= high]
    axes.set_xticks(ticks, [f"{one:g}" for one in ticks])
    axes.minorticks_off()
    axes.set_xlabel("squared difference of two halves of the calls,\nobserved / predicted; above 1: errors too small")


def _label(one: JudgeFigures) -> str:
    """Return a judge's name and how it was asked; a dollar sign is no formula."""
    text = f"{one.judge} ({one.asked})"
    return (text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…").replace("$", r"\$")
