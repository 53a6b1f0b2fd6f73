"""Which judges to ask, how, and how often, as a block of TOML: the conclusion of a calibration in words.

Not responsible for the conclusion itself (``choice``).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from calipers.backends.names import is_stand_in
from calipers.calibration import measures
from calipers.calibration.choice import KEPT, Choice
from calipers.calibration.comparable import ENOUGH
from calipers.calibration.costs import Cost, Measure
from calipers.calibration.judges import JudgeFigures
from calipers.calibration.ways import Way

_UNITS: Mapping[Measure, str] = {
    "usd": "dollars",
    "tokens": "tokens",
    "shown": "transcripts read",
    "calls": "calls",
}


def recommend(
    choice: Choice | None, judges: Sequence[JudgeFigures], limit: Mapping[Measure, float] | None = None
) -> str:
    """A block of TOML with a reason above every line, to paste into calipers.toml."""
    if choice is None:
        return _nothing(judges, limit)
    way = choice.way
    lines = [*_measured(choice), *_silence(way, judges), *_price(choice, limit), *_near(choice)]
    if len(way.judges) > 1:
        lines += _panel(way)
    else:
        lines.append(f"judge = [{json.dumps(way.judges[0], ensure_ascii=False)}]")
    lines += [*_questions(way, judges), *_level(way, judges)]
    return "\n".join(lines) + "\n"


def _nothing(judges: Sequence[JudgeFigures], limit: Mapping[Measure, float] | None) -> str:
    measured = [one for one in judges if one.advantage_fidelity is not None]
    if measured and all(is_stand_in(one.judge) for one in measured):
        names = ", ".join(sorted({_comment(one.judge) for one in measured}))
        return f"# No recommendation: {names} is for wiring and tests, not for training. Measure a model.\n"
    if limit and measured:
        most = " and ".join(f"{amount:g} {_UNITS[kind]}" for kind, amount in limit.items())
        return (
            f"# No recommendation: nothing that was measured is known to cost at most {most} a group.\n"
            "# Raise the limit, or give it in what the answers tell of their price.\n"
        )
    return "# No recommendation: agreement with gold could not be measured.\n"


def _measured(choice: Choice) -> list[str]:
    way = choice.way
    known = int((way.fidelity == way.fidelity).sum())  # NaN is not itself
    groups = f"{known} group{'' if known == 1 else 's'}"
    low_high = measures.interval(way.fidelity)
    lines = [f"# Measured on {groups}: advantage fidelity {measures.average(way.fidelity):.3f}{_interval(low_high)}."]
    if choice.fidelity is not None:
        fresh = f"{choice.fidelity:.3f}{_interval(choice.interval)}"
        lines.append(f"# On groups that had no part in choosing: {fresh}.")
    if known < ENOUGH:
        lines.append(f"# Fewer than {ENOUGH} groups: a guess, not a choice.")
    if low_high and low_high[1] < 0:
        lines.append("# Its scores run against gold: better members get lower ones. Do not train on it.")
    elif low_high and low_high[0] <= 0:
        lines.append("# Its interval reaches 0: this judge may know nothing. Do not train on it.")
    if not choice.shared:
        lines.append("# Not all were measured on the same groups: each was taken as it is.")
    elif choice.common_groups < known and choice.common_fidelity is not None:
        lines.append(
            f"# On the {choice.common_groups} groups on which all were compared: {choice.common_fidelity:.3f}."
        )
    names = sorted({_comment(one.judges[0]) for one in choice.aside if len(one.judges) == 1})
    if names:
        lines.append(f"# Not compared, for they scored too few groups: {', '.join(names)}.")
    return lines


def _silence(way: Way, judges: Sequence[JudgeFigures]) -> list[str]:
    """What the judges of a way did not score: those groups teach nothing."""
    return [
        f"# {_comment(one.judge)} gave no score in {one.missing.total} of {one.missing.total + one.groups} groups: {one.missing.told()}."
        for one in _figures_of(way, judges)
        if one.missing.total
    ]


def _interval(low_high: tuple[float, float] | None) -> str:
    return "" if low_high is None else f" [{low_high[0]:.3f}, {low_high[1]:.3f}]"


def _price(choice: Choice, limit: Mapping[Measure, float] | None) -> list[str]:
    way, dearest = choice.way, choice.frontier[-1]
    lines = [f"# A group costs {_told(way.cost)}."]
    if limit:
        most = " and ".join(f"{amount:g} {_UNITS[kind]}" for kind, amount in limit.items())
        lines.append(f"# The best of what costs at most {most} a group.")
    elif dearest is not way:
        best = measures.average(dearest.fidelity) or 0.0
        lines.append(
            f"# The cheapest in {_UNITS[choice.measure]} that keeps {KEPT:.1%} of the best: {_comment(dearest.name)}, "
            f"{best:.3f} for {_told(dearest.cost)}."
        )
    return lines


def _told(cost: Cost) -> str:
    tokens = cost.of("tokens")
    parts = [f"{cost.calls:.3g} call{'' if cost.calls == 1 else 's'}", f"{cost.shown:.3g} transcripts read"]
    parts += [] if tokens is None else [f"{tokens:,.0f} tokens"]
    parts += [] if cost.cost_usd is None else [f"${cost.cost_usd:.4g}"]
    return ", ".join(parts)


def _near(choice: Choice) -> list[str]:
    """Other ways in the interval of the chosen one that cost no more, by judge."""
    way = choice.way
    low = (measures.interval(way.fidelity) or (1.0, 1.0))[0]
    near = {
        name for one in choice.rivals if (measures.average(one.fidelity) or 0.0) >= low for name in one.judges
    } - set(way.judges)
    return [f"# Within its interval too, for no more: {_comment(', '.join(sorted(near)))}."] if near else []


def _panel(way: Way) -> list[str]:
    weights = way.weights or ()
    shares = ", ".join(f"{name} {share:.2f}" for name, share in zip(way.judges, weights, strict=True))
    return [
        "# Together they surely beat every single judge of no higher price.",
        f"# Weights, learned without labels: {_comment(shares)}.",
        f"judge = {json.dumps(list(way.judges), ensure_ascii=False)}",
        'panel = "all"',
        f'weights = "{",".join(f"{share:.4g}" for share in weights)}"',
    ]


def _questions(way: Way, judges: Sequence[JudgeFigures]) -> list[str]:
    lines = []
    if way.prompt_variant:
        lines.append(f"# As asked with the prompt variant {_comment(way.prompt_variant)}.")
    if way.criterion:
        lines.append(f"# As asked about the criterion {_comment(way.criterion)}.")
    lines.append(f'protocol = "{way.protocol}"')
    orders = way.orders
    if way.protocol == "pairwise":
        rates = [one.order_flip_rate for one in _figures_of(way, judges)]
        known = [one for one in rates if one is not None]
        if known:
            lines.append(f"# {max(known):.0%} of pairs flip when the order is swapped.")
        else:
            orders = 2
            lines.append("# Its order bias is unknown: ask both orders, at twice the price, until it is.")
    lines += [f"orders = {orders}", f"samples = {way.samples}"]
    if way.resolve is not None:
        lines += [
            "# Asked on only while unsettled, which surely beats as many calls for every group. Measured with its noise",
            "# known, as from a ledger of earlier answers; until it is, two presentations are the fewest.",
            f"resolve = {way.resolve:g}",
            f"most = {way.most}",
        ]
    return lines


def _figures_of(way: Way, judges: Sequence[JudgeFigures]) -> list[JudgeFigures]:
    return [
        one
        for one in judges
        if one.judge in way.judges
        and one.mode.removesuffix("_scores") == way.protocol
        and one.prompt_variant == way.prompt_variant
    ]


def _level(way: Way, judges: Sequence[JudgeFigures]) -> list[str]:
    """What becomes of groups whose spread is all noise."""
    figures = _figures_of(way, judges)[:1]
    told = [f"# {one.dead_groups} of {one.groups_judged} groups are dead level as they are." for one in figures]
    found = figures[0].resolve if figures and way.resolve is not None else None
    if found is None or not found.all_noise:
        return [*told, 'unresolved = "keep"']
    costs = f"{found.tie_cost:.4f}{_interval(found.tie_cost_interval)}"
    told.append(f"# {found.all_noise:.1%} of groups stay all noise; to tie them costs {costs}.")
    return [*told, f'unresolved = "{"tie" if found.may_tie else "keep"}"']


def _comment(text: str) -> str:
    """Text that cannot end its comment."""
    return " ".join(text.split())
