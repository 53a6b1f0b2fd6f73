"""Which judges to ask, how, and how often, as a block of TOML: the conclusion of a calibration.

The rule is plain: the judge that agrees best with one call, or the panel where one call of each member surely beats its
best member asked as often; then the fewest calls that keep 98.5 % of what was reached.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from calipers.calibration.findings import ENOUGH
from calipers.calibration.judges import JudgeFigures
from calipers.calibration.panels import PanelFigures

_KEPT = 0.985


def recommend(judges: Sequence[JudgeFigures], panel: PanelFigures) -> str:
    """A block of TOML with a reason above every line, to paste into calipers.toml."""
    measured = [one for one in judges if one.advantage_fidelity is not None and one.groups >= 2]
    if not measured:
        return "# No recommendation: agreement with gold could not be measured.\n"
    best = max(measured, key=lambda one: (one.by_calls[0].advantage_fidelity, one.advantage_fidelity or 0.0))
    low, high = best.advantage_fidelity_interval or (float("nan"), float("nan"))
    lines = [
        f"# Measured on {best.groups} groups: advantage fidelity {best.advantage_fidelity:.3f} [{low:.3f}, {high:.3f}]."
    ]
    if best.groups < ENOUGH:
        lines.append(f"# Fewer than {ENOUGH} groups: a guess, not a choice.")
    if low <= 0:
        lines.append("# Its interval reaches 0: this judge may know nothing. Do not train on it.")
    lines += _near(measured, best)
    lines += _panel(best, panel) or [f"judge = [{json.dumps(best.judge, ensure_ascii=False)}]"]
    lines += [*_questions(best), *_resolve(best), *_ties(best)]
    return "\n".join(lines) + "\n"


def _near(measured: Sequence[JudgeFigures], best: JudgeFigures) -> list[str]:
    low = (best.advantage_fidelity_interval or (1.0, 1.0))[0]
    near = {one.judge for one in measured if (one.advantage_fidelity or 0.0) >= low} - {best.judge}
    return (
        [f"# Within its interval too: {_comment(', '.join(sorted(near)))}; the cheapest of them will do."]
        if near
        else []
    )


def _panel(best: JudgeFigures, panel: PanelFigures) -> list[str]:
    """The panel, where one call of each member surely beats the best member asked as often."""
    rival, level = panel.best_member, panel.advantage_fidelity
    surely = rival is not None and rival.panel_gain_interval is not None and rival.panel_gain_interval[0] > 0
    if rival is None or level is None or not surely or level <= (best.advantage_fidelity or 0.0):
        return []
    shares = ", ".join(f"{name} {share:.2f}" for name, share in zip(panel.members, panel.weights, strict=True))
    alone = f"{_comment(rival.judge)} alone, asked {rival.calls} time{'s' if rival.calls > 1 else ''}"
    return [
        f"# The panel, one call each, reaches {level:.3f}; {alone}, {rival.advantage_fidelity:.3f}.",
        f"# Weights, learned without labels: {_comment(shares)}.",
        f"judge = {json.dumps(list(panel.members), ensure_ascii=False)}",
        'panel = "all"',
        f'weights = "{",".join(f"{share:.4g}" for share in panel.weights)}"',
    ]


def _questions(best: JudgeFigures) -> list[str]:
    protocol = best.mode.removesuffix("_scores")
    lines = [f'protocol = "{protocol}"']
    if best.prompt_variant:
        lines.insert(0, f"# As asked with the prompt variant {_comment(best.prompt_variant)}.")
    points = best.by_calls
    enough = next(
        (one for one in points if one.advantage_fidelity >= _KEPT * points[-1].advantage_fidelity), points[-1]
    )
    if best.mode == "pairwise":
        both = best.order_flip_rate is None or best.order_flip_rate > 0.05
        rate = best.order_flip_rate
        why = "Its order bias is unknown" if rate is None else f"{rate:.0%} of pairs flip when the order is swapped"
        lines += [f"# {why}.", f"orders = {2 if both else 1}"]
        return [*lines, "samples = 1"]
    what = "calls reach" if enough.calls > 1 else "call reaches"
    lines.append(
        f"# {enough.calls} {what} {enough.advantage_fidelity:.3f} of {points[-1].advantage_fidelity:.3f} at {points[-1].calls}."
    )
    orders = enough.calls if protocol == "listwise" else 1
    lines += [f"orders = {orders}", f"samples = {1 if protocol == 'listwise' else enough.calls}"]
    return lines


def _resolve(best: JudgeFigures) -> list[str]:
    """Asking on only while a group is unsettled, where that surely pays; and the most calls a group should get."""
    if best.mode == "pairwise" or not best.by_calls:
        return []
    found, most = best.resolve, best.by_calls[-1].calls
    if not found or not found.gain_interval or found.gain_interval[0] <= 0:
        return []
    level = f"{found.advantage_fidelity:.3f} at {found.calls:.1f} calls on average"
    return [
        f"# Asked on only while unsettled: {level}, against {found.fixed_advantage_fidelity:.3f} with as many for all.",
        f"resolve = {found.tolerance:g}",
        f"most = {most}",
    ]


def _ties(best: JudgeFigures) -> list[str]:
    """Whether to tie a group whose spread is all noise."""
    return [f"# {best.dead_groups} of {best.groups_judged} groups are dead level as they are.", 'unresolved = "keep"']


def _comment(text: str) -> str:
    """Text that cannot end its comment."""
    return " ".join(text.split())
