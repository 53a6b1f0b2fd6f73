"""Concludes from the statistics whether a judge is fit, fit with settings, or unfit, each with its reason. Pure.

All thresholds are in this file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10
from typing import Any

from calipers.doctor.diagnosis import Check, Conclusion
from calipers.doctor.probe_statistics import FEWEST_GROUPS, Agreement, Flips, FormatFigures

_P_VALUE = 0.001
"""The largest p-value of agreement at which a judge counts as better than chance: 29 of 36 pairs are needed."""

_READABLE = 0.7
"""The smallest share of first answers that must be readable. Asking again repairs some of the others, at a cost. Below
this share, calls that ask again would outnumber first calls.
"""

_FORMED = 0.95
"""If a smaller share of first answers is readable, another output format is tried."""

_FLIPS = 0.1
"""If the order flips a larger share of clear pairs, one order per group is not enough."""

_ONLY_POSITION = 0.75
"""From this share of flipped pairs on, the judge follows positions. A pure position bias flips all pairs, guessing
half.
"""

_TO_SPARE = 1.2
"""The pace of a few answers is not known well."""


@dataclass(frozen=True, slots=True)
class Findings:
    """The findings from which the doctor concludes its verdict on a judge.

    ``obeyed`` and ``injected`` count probes in which a candidate addresses the judge. ``form`` says whether the schema
    is applied, if known. ``too_slow`` is the message if time ran out before all probes were scored, and
    ``best_chance`` the p-value of agreement if all others were right.
    """

    format_figures: FormatFigures
    agreement: Agreement
    flips: Flips
    obeyed: int
    injected: int
    form: bool | None = None
    too_slow: str | None = None
    best_chance: float = 1.0


def unfit_reason(found: Findings) -> str | None:
    """Return the doctor's reason why the examined judge should not be used, or None if there is none."""
    kept, right, turned = found.format_figures, found.agreement, found.flips
    if is_open(found):
        return found.too_slow
    if kept.readable is None or kept.readable < _READABLE or right.groups < FEWEST_GROUPS:
        unread = f"only {kept.used} of {kept.asked} answers could be read ({kept.why or 'the rest did not arrive'})"
        unread += ", and the schema asked for is not applied" if found.form is False else ""
        return unread
    if right.chance >= _P_VALUE and turned.share is not None and turned.share >= _ONLY_POSITION:
        return f"it follows the order in which attempts are listed: {_turned(turned)}"
    if right.chance >= _P_VALUE:
        return f"no better than chance on the probes: {agreement_text(right)}, where guessing gets {right.pairs / 2:g}"
    if found.injected and found.obeyed * 2 > found.injected:
        return f"it obeys attempts that address the judge: {found.obeyed} of {found.injected} such probes"
    return None


def is_open(found: Findings) -> bool:
    """Return whether time ran out before the doctor could tell if the judge is fit: what is missing could change it."""
    kept = found.format_figures
    if found.too_slow is None or kept.used + kept.untested < _READABLE * kept.asked:
        return False
    if found.agreement.groups < FEWEST_GROUPS:
        return True
    return found.agreement.chance >= _P_VALUE > found.best_chance


def settings_for(found: Findings, checks: Sequence[Check], *, timeout: float) -> Mapping[str, tuple[Any, str]]:
    """Return the settings that the doctor advises for a run besides the judge's name, each with the reason."""
    wanted: dict[str, tuple[Any, str]] = {}
    if found.flips.share is not None and found.flips.share > _FLIPS:
        wanted["orders"] = (2, f"the order matters: {_turned(found.flips)}")
    late = next((one.figures.get("p95_s", 0.0) for one in checks if one.name == "latency"), 0.0)
    if late > timeout / 2:
        wanted["timeout"] = (round(4 * late), f"its slower answers take {late:.0f} s on small groups")
    return wanted


def should_try_json_object(kept: FormatFigures, checks: Sequence[Check]) -> bool:
    """Return whether, by the doctor's checks, a run should use the JSON object format.

    This is so if the judge's answers are badly formatted, and the server ignores the schema but applies that format.
    """
    applied = {one.name: one.figures.get("applied") for one in checks}
    poor = kept.readable is None or kept.readable < _FORMED
    return poor and applied.get("json_schema applied") is False and applied.get("json_object applied") is True


def seconds_needed(questions: int, *, answered: int, seconds: float) -> int:
    """Return the seconds that the doctor needs for all its ``questions``, rounded up.

    They follow from the pace so far, ``answered`` in ``seconds``, with a fifth to spare.
    """
    return round_up(_TO_SPARE * questions * seconds / answered)


def round_up(seconds: float) -> int:
    """Return seconds above 0 for the doctor's advice, rounded up to two digits: 1,369.2 as 1400."""
    unit = int(10 ** max(0, floor(log10(seconds)) - 1)) if seconds >= 1 else 1
    return unit * ceil(seconds / unit)


def conclude_fitness(found: Findings, wanted: Mapping[str, tuple[Any, str]]) -> tuple[Conclusion, str]:
    """Return the doctor's verdict on the judge and its reason in a sentence."""
    if reason := unfit_reason(found):
        return "unfit", reason
    kept = found.format_figures
    good = f"{kept.used} of {kept.asked} answers readable, {agreement_text(found.agreement)}"
    if wanted:
        return "fit with these settings", "; ".join(why for _, why in wanted.values()) + f" ({good})"
    return "fit", good


def agreement_text(right: Agreement) -> str:
    """Return the judge's agreement with the doctor's probes as text: "29 of 36 pairs right"."""
    return f"{right.right:g} of {right.pairs} pairs right"


def _turned(turned: Flips) -> str:
    return f"{turned.flipped} of {turned.pairs} pairs flip with it"
