"""Write the recommendation of a calibration as a block of TOML: which judges to query, how, and how often."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from calipers.backends.names import is_stand_in, short_names
from calipers.calibration import measures
from calipers.calibration.asked import Asked, request_lines
from calipers.calibration.choice import SHARE_OF_BEST, Choice
from calipers.calibration.comparable import MIN_GROUPS
from calipers.calibration.costs import Cost, Measure
from calipers.calibration.judges import JudgeFigures
from calipers.calibration.records import Key
from calipers.calibration.ways import Way

_NEAR = 3
"""The most ways that are named beside the chosen one."""
_UNRELATED = 0.005
"""A lower correlation of errors would be written as 0."""
_MOST_RELATED = 0.99

_UNITS: Mapping[Measure, str] = {
    "usd": "dollars",
    "tokens": "tokens",
    "shown": "transcripts read",
    "calls": "calls",
}


def recommendation_toml(
    choice: Choice | None,
    judges: Sequence[JudgeFigures],
    limit: Mapping[Measure, float] | None = None,
    rubrics: Mapping[str, str] | None = None,
    asked: Mapping[Key, Asked] | None = None,
) -> str:
    """Return calibration's recommendation: a block of TOML for calipers.toml, with a reason above every line.

    ``rubrics`` are the files of prompt variants, by the variant's name. ``asked`` says how judges were asked, as far as
    their answers do not say it.
    """
    if choice is None:
        return _no_recommendation(judges, limit)
    way, names = choice.way, short_names(one.judge for one in judges)
    lines = [
        *_measured(choice, names),
        *_unscored(way, judges, names),
        *_price(choice, limit, names),
        *_near_ways(choice, names),
    ]
    if len(way.judges) > 1:
        lines += _panel(way, names)
    else:
        lines.append(f"judge = [{json.dumps(way.judges[0], ensure_ascii=False)}]")
    lines += [*request_lines(way.keys, asked or {}, names), *_rubrics(way, rubrics or {})]
    lines += [*_questions(way, judges), *_tie_lines(way, judges)]
    return "\n".join(lines) + "\n"


def _no_recommendation(judges: Sequence[JudgeFigures], limit: Mapping[Measure, float] | None) -> str:
    measured = [one for one in judges if one.advantage_fidelity is not None]
    if measured and all(is_stand_in(one.judge) for one in measured):
        names = sorted({_comment(one.judge) for one in measured})
        are = "is" if len(names) == 1 else "are"
        simulated = any(name.startswith("profile:") for name in names)
        return (
            f"# No recommendation: {', '.join(names)} {are} for tests, not for training. Measure a model.\n"
            + simulated * "# Answers of profiles are simulated: these figures say little about the models themselves.\n"
        )
    if limit and measured:
        most = " and ".join(f"{amount:g} {_UNITS[kind]}" for kind, amount in limit.items())
        return (
            f"# No recommendation: no measured way is known to cost at most {most} a group.\n"
            "# Raise the limit, or set it in a unit that the recorded answers contain.\n"
        )
    return "# No recommendation: agreement with gold could not be measured.\n"


def _measured(choice: Choice, called: Mapping[str, str]) -> list[str]:
    way = choice.way
    known = int((way.fidelity == way.fidelity).sum())  # only NaN differs from itself
    groups = f"{known} group{'' if known == 1 else 's'}"
    low_high = measures.bootstrap_interval(way.fidelity)
    fidelity = f"{measures.mean_over_groups(way.fidelity):.3f}{_interval(low_high)}"
    tried = f"The best of {choice.tried:,} ways tried. " if choice.tried > 1 else ""
    lines = [f"# {tried}Measured on {groups}: advantage fidelity {fidelity}."]
    if choice.fidelity is not None:
        held_out = f"{choice.fidelity:.3f}{_interval(choice.interval)}"
        lines.append(f"# On groups that had no part in the choice: {held_out}.")
    if known < MIN_GROUPS:
        lines.append(f"# Fewer than {MIN_GROUPS} groups: too few for a reliable choice.")
    if low_high and low_high[1] < 0:
        lines.append("# Better members get lower scores. Do not train on it.")
    elif low_high and low_high[0] <= 0:
        lines.append("# Its interval includes 0: it may be no better than chance. Do not train on it.")
    if not choice.shared:
        lines.append("# Not all ways were measured on the same groups: each was compared on its own.")
    elif choice.common_groups < known and choice.common_fidelity is not None:
        lines.append(
            f"# On the {choice.common_groups} groups on which all ways were compared: {choice.common_fidelity:.3f}."
        )
    names = sorted({_name(one.judges[0], called) for one in choice.aside if len(one.judges) == 1})
    if names:
        lines.append(f"# Not compared, because they scored too few groups: {', '.join(names)}.")
    return lines


def _unscored(way: Way, judges: Sequence[JudgeFigures], names: Mapping[str, str]) -> list[str]:
    """Return comment lines about groups that the judges of a way did not score; these groups teach nothing."""
    return [
        f"# {_name(one.judge, names)} gave no score in {one.missing.total} of {one.missing.total + one.groups} groups: "
        f"{one.missing.as_text()}."
        for one in _figures_of(way, judges)
        if one.missing.total
    ]


def _interval(low_high: tuple[float, float] | None) -> str:
    return "" if low_high is None else f" [{low_high[0]:.3f}, {low_high[1]:.3f}]"


def _price(choice: Choice, limit: Mapping[Measure, float] | None, names: Mapping[str, str]) -> list[str]:
    way, dearest = choice.way, choice.frontier[-1]
    lines = [f"# A group costs {_as_text(way.cost)}."]
    if limit:
        most = " and ".join(f"{amount:g} {_UNITS[kind]}" for kind, amount in limit.items())
        lines.append(f"# The best way that costs at most {most} a group.")
    elif dearest is not way:
        lines += [
            f"# It is the cheapest, in {_UNITS[choice.measure]}, with {SHARE_OF_BEST:.1%} of the best way's fidelity.",
            f"# The best way costs more: {_way(dearest, names)}.",
        ]
    return lines


def _way(way: Way, names: Mapping[str, str]) -> str:
    """Return a whole way as text: what it is called, its fidelity, and the cost of a group."""
    level = measures.mean_over_groups(way.fidelity)
    fidelity = "unknown" if level is None else f"{level:.3f}"
    return f"{_comment(way.called(names))}: {fidelity} for {_as_text(way.cost)}"


def _as_text(cost: Cost) -> str:
    tokens = cost.of("tokens")
    parts = [f"{cost.calls:.3g} call{'' if cost.calls == 1 else 's'}", f"{cost.shown:.3g} transcripts read"]
    parts += [] if tokens is None else [f"{tokens:,.0f} tokens"]
    parts += [] if cost.cost_usd is None else [f"${cost.cost_usd:.4g}"]
    return ", ".join(parts)


def _near_ways(choice: Choice, names: Mapping[str, str]) -> list[str]:
    """Return comment lines with other ways in the chosen way's interval, at no higher cost: the cheapest first, then
    those that are better than all before them.
    """
    low = (measures.bootstrap_interval(choice.way.fidelity) or (1.0, 1.0))[0]
    near: list[Way] = []
    for one in choice.rivals:
        level = measures.mean_over_groups(one.fidelity)
        best = measures.mean_over_groups(near[-1].fidelity) if near else None
        if one is not choice.way and level is not None and level >= low and (best is None or level > best):
            near.append(one)
    if not near:
        return []
    return ["# Also within its interval, at no higher cost:", *(f"# - {_way(one, names)}" for one in near[:_NEAR])]


def _panel(way: Way, names: Mapping[str, str]) -> list[str]:
    weights = way.weights or ()
    shares = ", ".join(f"{names.get(one, one)} {share:.2f}" for one, share in zip(way.judges, weights, strict=True))
    return [
        "# Together they beat the best single judge of no higher price by more than one standard error.",
        f"# Weights, learned from gold: {_comment(shares)}.",
        f"judge = {json.dumps(list(way.judges), ensure_ascii=False)}",
        'panel = "all"',
        f'weights = "{",".join(f"{share:.4g}" for share in weights)}"',
        *_related_errors(way),
    ]


def _related_errors(way: Way) -> list[str]:
    """Return lines about the correlation of a panel's errors, by which a run corrects its standard errors."""
    if way.error_correlation is None or way.effective_votes is None or way.error_correlation < _UNRELATED:
        return []
    return [
        f"# Their errors go together: they are as good as {way.effective_votes:.1f} judges with unrelated errors.",
        f"error_correlation = {min(way.error_correlation, _MOST_RELATED):.2g}",
    ]


def _rubrics(way: Way, files: Mapping[str, str]) -> list[str]:
    """Return lines with the rubric that the judges of a way were asked with, if it is one whose file is known."""
    variant = way.prompt_variant
    if not variant:
        return []
    lines = [f"# Measured with the prompt variant {_comment(variant)}."]
    return [*lines, f"rubric = {_text(files[variant])}" if variant in files else _unknown_file(variant)]


def _unknown_file(variant: str) -> str:
    return f"# Its rubric is not known here: calibrate --rubric FILE, with the file named {_comment(variant)}, adds it."


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)


def _questions(way: Way, judges: Sequence[JudgeFigures]) -> list[str]:
    lines = []
    if way.criterion:
        lines.append(f"# Measured for the criterion {_comment(way.criterion)}.")
    lines.append(f'protocol = "{way.protocol}"')
    orders = way.orders
    if way.protocol == "pairwise":
        rates = [one.order_flip_rate for one in _figures_of(way, judges)]
        known = [one for one in rates if one is not None]
        if known:
            lines.append(f"# {max(known):.0%} of pairs flip when the order is swapped.")
        else:
            orders = 2
            lines.append("# Position bias is unknown: ask both orders, at twice the price, until it is known.")
    lines += [f"orders = {orders}", f"samples = {way.samples}"]
    if way.resolve is not None:
        lines += [
            (
                "# calipers stops asking once more calls would not change the ranking; as many calls for every group "
                "are worse."
            ),
            "# Measured with the judge's noise known from earlier answers; until it is, every group is asked twice.",
            f"resolve = {way.resolve:g}",
            f"most = {way.most}",
        ]
    return lines


def _figures_of(way: Way, judges: Sequence[JudgeFigures]) -> list[JudgeFigures]:
    own = {key.judge: key.prompt_variant for key in way.members}
    variants = {judge: own.get(judge, way.prompt_variant) for judge in way.judges}
    return [
        one
        for one in judges
        if one.judge in way.judges
        and one.mode.removesuffix("_scores") == way.protocol
        and one.prompt_variant == variants[one.judge]
    ]


def _tie_lines(way: Way, judges: Sequence[JudgeFigures]) -> list[str]:
    """Return comment lines about groups whose differences are all noise."""
    figures = _figures_of(way, judges)[:1]
    lines = [f"# {one.dead_groups} of {one.groups_judged} groups have all scores tied." for one in figures]
    found = figures[0].resolve if figures and way.resolve is not None else None
    if found is not None and found.all_noise:
        costs = f"{found.tie_cost:.4f}{_interval(found.tie_cost_interval)}"
        lines.append(f"# In {found.all_noise:.1%} of groups all differences are noise; tying them costs {costs}.")
    return lines


def _name(judge: str, names: Mapping[str, str]) -> str:
    return _comment(names.get(judge, judge))


def _comment(text: str) -> str:
    """Return text on one line, so that it stays inside its TOML comment."""
    return " ".join(text.split())
