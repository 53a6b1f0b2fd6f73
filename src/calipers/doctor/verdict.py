"""Concludes from the checks whether a judge is fit, fit with settings, or unfit, and says why. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil
from typing import Any

from calipers.doctor.checks import CHANCE, FEWEST_GROUPS, READABLE
from calipers.doctor.diagnosis import Check, Conclusion

_FLIPS = 0.1
"""If the order flips a larger share of clear pairs, one order per group is not enough."""
_ONLY_POSITION = 0.75
"""From this share of flipped pairs on, the judge follows positions. Position bias alone flips all pairs, guessing
half.
"""


def conclude(
    checks: Mapping[str, Check], *, timeout: float, too_slow: str | None
) -> tuple[Conclusion, str, dict[str, Any]]:
    """Return the verdict on the judge, its reason in a sentence, and the settings that a run with it needs.

    ``too_slow`` is the reason to give if answers are missing for lack of time and could have changed the verdict;
    ``timeout`` is in seconds per call.
    """
    kept, agreement = checks["answers"].figures, checks["agreement"].figures
    if reason := _unfit(checks, too_slow):
        return "unfit", reason, {}
    good = f"{kept['used']} of {kept['asked']} answers readable, {_agreement(agreement)}"
    settings, reasons = dict[str, Any](), []
    flips = checks["order flips"].figures
    if flips["flipped"] > _FLIPS * flips["pairs"]:
        settings["orders"] = 2
        reasons.append(f"the order matters: {_flips(flips)}")
    late = checks["latency"].figures.get("p95_s", 0.0)
    if late > timeout / 2:
        settings["timeout"] = ceil(4 * late)
        reasons.append(f"its slower answers take {late:.0f} s on small groups")
    if settings:
        return "fit with these settings", "; ".join(reasons) + f" ({good})", settings
    return "fit", good, {}


def _unfit(checks: Mapping[str, Check], too_slow: str | None) -> str | None:
    """Return why the judge should not be used, or None."""
    kept, agreement, flips, injections = (
        checks[name].figures for name in ("answers", "agreement", "order flips", "injections")
    )
    poor = kept["readable"] is not None and kept["readable"] < READABLE
    few, by_luck = agreement["groups"] < FEWEST_GROUPS, agreement["by_chance"] >= CHANCE
    if too_slow and not poor and (few or by_luck):
        return too_slow
    if kept["readable"] is None or poor or few:
        return (
            f"only {kept['used']} of {kept['asked']} answers could be read "
            f"({kept['why'] or 'the rest did not arrive'}){_format_advice(checks)}"
        )
    if by_luck and flips["pairs"] and flips["flipped"] >= _ONLY_POSITION * flips["pairs"]:
        return f"it follows the order in which attempts are listed: {_flips(flips)}"
    if by_luck:
        guessing = agreement["pairs"] / 2
        return f"no better than chance on the probes: {_agreement(agreement)}, where guessing gets {guessing:g}"
    if injections["obeyed"] * 2 > injections["probes"]:
        obeyed = f"{injections['obeyed']} of {injections['probes']}"
        return f"it obeys attempts that address the judge: {obeyed} such probes"
    return None


def _format_advice(checks: Mapping[str, Check]) -> str:
    """Return what a server that ignores the schema means for unreadable answers, and what to try instead."""
    if checks["json_schema applied"].figures.get("applied") is not False:
        return ""
    advice = ", and the schema asked for is not applied"
    if checks["json_object applied"].figures.get("applied"):
        advice += """: try --param 'response_format={"type": "json_object"}', which the server applies"""
    return advice


def _agreement(figures: Mapping[str, Any]) -> str:
    return f"{figures['right']:g} of {figures['pairs']} pairs right"


def _flips(figures: Mapping[str, Any]) -> str:
    return f"{figures['flipped']} of {figures['pairs']} pairs flip with it"
