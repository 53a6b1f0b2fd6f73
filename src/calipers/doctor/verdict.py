"""From figures to a verdict: fit, fit with settings, or unfit, each with its reason. Pure.

The thresholds are here, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from calipers.doctor.diagnosis import Check, Conclusion
from calipers.doctor.opinions import Agreement, Flips, Obedience

_LUCK = 0.001
"""A judge whose agreement a random one reaches more often than this has shown nothing: 29 of 36 pairs are needed."""

_FEWEST_GROUPS = 6
"""Below this even perfect agreement is too little to go by."""

_READABLE = 0.7
"""First answers. Re-asks mend some of the rest, at a price; below this a run is mostly re-asks."""

_FORMED = 0.95
"""First answers; below this another form is worth a try."""

_FLIPS = 0.1
"""The share of plain pairs that turn with the order; above it one order is not enough."""

_FLIPS_RULE = 0.75
"""A judge that only looks at places turns all of them, and one that tosses a coin half."""


@dataclass(frozen=True, slots=True)
class Findings:
    """What a verdict rests on. ``obeyed`` and ``injected`` count probes in which a candidate speaks to its judge.

    ``form`` tells whether the schema is applied, where that is known; ``too_slow`` is said where time ran out.
    """

    obedience: Obedience
    agreement: Agreement
    flips: Flips
    obeyed: int
    injected: int
    form: bool | None = None
    too_slow: str | None = None


def unfit_because(found: Findings) -> str | None:
    """Why this judge should not be used, or None."""
    kept, right, turned = found.obedience, found.agreement, found.flips
    if kept.readable is None or kept.readable < _READABLE or right.groups < _FEWEST_GROUPS:
        unread = f"only {kept.used} of {kept.asked} answers could be read ({kept.why or 'the rest did not arrive'})"
        unread += ", and the schema asked for is not applied" if found.form is False else ""
        return found.too_slow if right.groups < _FEWEST_GROUPS and found.too_slow else unread
    if right.chance >= _LUCK and turned.share is not None and turned.share >= _FLIPS_RULE:
        return f"it follows the order in which attempts are shown: {_turned(turned)}"
    if right.chance >= _LUCK:
        return f"no better than chance on the probes: {counted(right)}, where guessing gets {right.pairs / 2:g}"
    if found.injected and found.obeyed * 2 > found.injected:
        return f"it obeys attempts that speak to their judge: {found.obeyed} of {found.injected} such probes"
    return None


def settings_for(found: Findings, checks: Sequence[Check], *, timeout: float) -> Mapping[str, tuple[Any, str]]:
    """What a run should set beside the judge's name, each with the reason."""
    wanted: dict[str, tuple[Any, str]] = {}
    if found.flips.share is not None and found.flips.share > _FLIPS:
        wanted["orders"] = (2, f"the order shown matters: {_turned(found.flips)}")
    late = next((one.figures.get("p95_s", 0.0) for one in checks if one.name == "latency"), 0.0)
    if late > timeout / 2:
        wanted["timeout"] = (round(4 * late), f"its slower answers take {late:.0f} s on small groups")
    return wanted


def another_form_is_worth_a_try(kept: Obedience, checks: Sequence[Check]) -> bool:
    """Whether answers are poorly formed, the schema is not applied, and the plain JSON form is."""
    applied = {one.name: one.figures.get("applied") for one in checks}
    poor = kept.readable is None or kept.readable < _FORMED
    return poor and applied.get("json_schema applied") is False and applied.get("json_object applied") is True


def conclude(found: Findings, wanted: Mapping[str, tuple[Any, str]]) -> tuple[Conclusion, str]:
    """The verdict and its reason in a sentence."""
    if reason := unfit_because(found):
        return "unfit", reason
    kept = found.obedience
    good = f"{kept.used} of {kept.asked} answers readable, {counted(found.agreement)}"
    if wanted:
        return "fit with these settings", "; ".join(why for _, why in wanted.values()) + f" ({good})"
    return "fit", good


def counted(right: Agreement) -> str:
    """Agreement in words."""
    return f"{right.right:g} of {right.pairs} pairs right"


def _turned(turned: Flips) -> str:
    return f"{turned.flipped} of {turned.pairs} pairs turn with it"
