"""Write the recommendation of a calibration as a block of TOML: which judges to query, how, and how often."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from calipers.backends.names import is_stand_in, short_names
from calipers.calibration import measures
from calipers.calibration.choice import SHARE_OF_BEST, Choice, Way
from calipers.calibration.comparable import MIN_GROUPS
from calipers.calibration.curves import Interval
from calipers.calibration.metrics import JudgeFigures
from calipers.calibration.records import Cost, Key, Measure
from calipers.config.settings import Settings

_UNRELATED: Final = 0.005
"""A lower correlation of errors would be written as 0."""
_MOST_RELATED: Final = 0.99
_UNITS: Final[Mapping[Measure, str]] = {
    "usd": "dollars",
    "tokens": "tokens",
    "shown": "transcripts read",
    "calls": "calls",
}


@dataclass(frozen=True, slots=True)
class Asked:
    """How a calibration asked a judge, as far as its answers do not say it: settings of ``Judge`` by flat names."""

    params: Mapping[str, Any] = field(default_factory=dict)
    expected: bool = False
    price: Sequence[float] | None = None

    @classmethod
    def of(cls, settings: Settings) -> Asked:
        """Return what a judge with these ``settings`` was asked with."""
        price = settings.calls.price
        single = None if isinstance(price, Mapping) else price
        return cls(dict(settings.calls.params or {}), settings.question.expected, single)


def recommendation_toml(
    choice: Choice | None,
    judges: Sequence[JudgeFigures],
    limit: Mapping[Measure, float] | None = None,
    rubrics: Mapping[str, str] | None = None,
    asked: Mapping[Key, Asked] | None = None,
) -> str:
    """Return the recommendation: a block of TOML for calipers.toml, with a reason above every line.

    ``rubrics`` are the files of prompt variants, by the variant's name. ``asked`` says how judges were asked, as far as
    their answers do not say it.
    """
    if choice is None:
        return _no_recommendation(judges, limit)
    way, names = choice.way, short_names(one.judge for one in judges)
    figures = _figures_of(way, judges)
    lines = [*_measured(choice, names), *_unscored(figures, names), *_price(choice, limit, names)]
    lines += _panel(way, names) if len(way.judges) > 1 else [f"judge = [{_text(way.judges[0])}]"]
    lines += [*request_lines(way.keys, asked or {}, names), *_rubric(way, rubrics or {})]
    lines += _questions(way, figures)
    lines += [f"# {one.dead_groups} of {one.groups_judged} groups have all scores tied." for one in figures[:1]]
    return "\n".join(lines) + "\n"


def _no_recommendation(judges: Sequence[JudgeFigures], limit: Mapping[Measure, float] | None) -> str:
    measured = [one for one in judges if one.advantage_fidelity is not None]
    if measured and all(is_stand_in(one.judge) for one in measured):
        names = sorted({_comment(one.judge) for one in measured})
        are = "is" if len(names) == 1 else "are"
        return f"# No recommendation: {', '.join(names)} {are} for tests, not for training. Measure a model.\n"
    if limit and measured:
        return (
            f"# No recommendation: no measured way is known to cost at most {_limits(limit)} a group.\n"
            "# Raise the limit, or set it in a unit that the recorded answers contain.\n"
        )
    return "# No recommendation: agreement with gold could not be measured.\n"


def _limits(limit: Mapping[Measure, float]) -> str:
    return " and ".join(f"{amount:g} {_UNITS[kind]}" for kind, amount in limit.items())


def _measured(choice: Choice, names: Mapping[str, str]) -> list[str]:
    fidelity = choice.way.fidelity
    known = len(fidelity) - int(np.isnan(fidelity).sum())
    interval = measures.bootstrap_interval(fidelity)
    level = f"{measures.mean_over_groups(fidelity):.3f}{_interval(interval)}"
    tried = f"The best of {choice.tried:,} ways tried. " if choice.tried > 1 else ""
    lines = [f"# {tried}Measured on {known} group{'s' * (known != 1)}: advantage fidelity {level}."]
    if choice.fidelity is not None:
        lines.append(f"# On groups that had no part in the choice: {choice.fidelity:.3f}{_interval(choice.interval)}.")
    if known < MIN_GROUPS:
        lines.append(f"# Fewer than {MIN_GROUPS} groups: too few for a reliable choice.")
    if interval and interval[1] < 0:
        lines.append("# Better members get lower scores. Do not train on it.")
    elif interval and interval[0] <= 0:
        lines.append("# Its interval includes 0: it may be no better than chance. Do not train on it.")
    if not choice.common.shared:
        lines.append("# Not all ways were measured on the same groups: each was compared on its own.")
    aside = sorted({_name(one.judges[0], names) for one in choice.aside})
    return [*lines, *([f"# Not compared, because they scored too few groups: {', '.join(aside)}."] if aside else [])]


def _unscored(figures: Sequence[JudgeFigures], names: Mapping[str, str]) -> list[str]:
    """Return comments about groups that the judges of a way did not score; these groups teach nothing."""
    return [
        f"# {_name(one.judge, names)} gave no score in {one.missing.total} of {one.missing.total + one.groups} groups: "
        f"{one.missing.as_text()}."
        for one in figures
        if one.missing.total
    ]


def _interval(ends: Interval | None) -> str:
    return "" if ends is None else f" [{ends[0]:.3f}, {ends[1]:.3f}]"


def _price(choice: Choice, limit: Mapping[Measure, float] | None, names: Mapping[str, str]) -> list[str]:
    way, dearest = choice.way, choice.frontier[-1]
    lines = [f"# A group costs {_as_text(way.cost)}."]
    if limit:
        return [*lines, f"# The best way that costs at most {_limits(limit)} a group."]
    if dearest is way:
        return lines
    level = f"{measures.mean_over_groups(dearest.fidelity):.3f} for {_as_text(dearest.cost)}"
    return [
        *lines,
        f"# It is the cheapest, in {_UNITS[choice.measure]}, with {SHARE_OF_BEST:.1%} of the best way's fidelity.",
        f"# The best way costs more: {_comment(dearest.called(names))}: {level}.",
    ]


def _as_text(cost: Cost) -> str:
    tokens = cost.of("tokens")
    parts = [f"{cost.calls:.3g} call{'' if cost.calls == 1 else 's'}", f"{cost.shown:.3g} transcripts read"]
    parts += [] if tokens is None else [f"{tokens:,.0f} tokens"]
    parts += [] if cost.cost_usd is None else [f"${cost.cost_usd:.4g}"]
    return ", ".join(parts)


def _panel(way: Way, names: Mapping[str, str]) -> list[str]:
    weights = way.weights or ()
    shares = ", ".join(f"{names.get(one, one)} {share:.2f}" for one, share in zip(way.judges, weights, strict=True))
    lines = [
        "# Together they beat the best single judge of no higher price by more than one standard error.",
        f"# Weights, learned from gold: {_comment(shares)}.",
        f"judge = {json.dumps(list(way.judges), ensure_ascii=False)}",
        'panel = "all"',
        f'weights = "{",".join(f"{share:.4g}" for share in weights)}"',
    ]
    related, votes = way.error_correlation, way.effective_votes
    if related is None or votes is None or related < _UNRELATED:
        return lines
    return [
        *lines,
        f"# Their errors go together: they are as good as {votes:.1f} judges with unrelated errors.",
        f"error_correlation = {min(related, _MOST_RELATED):.2g}",
    ]


def request_lines(keys: Sequence[Key], asked: Mapping[Key, Asked], names: Mapping[str, str]) -> list[str]:
    """Return lines that ask the judges of a way as calibration did; ``asked`` lacks judges of recorded answers."""
    known = [asked[key] for key in keys if key in asked]
    unknown = ", ".join(_name(key.judge, names) for key in keys if key not in asked)
    lines = (
        [f"# {unknown}: recorded answers do not say with which param and expected; set them as they were then."]
        if unknown
        else []
    )
    params: dict[str, Any] = {}
    for name, value in ((name, value) for one in known for name, value in one.params.items()):
        if all(one.params.get(name) == value for one in known):
            params[name] = value
        elif (differs := f"# The judges were asked with different values of {_text(name)}.") not in lines:
            lines.append(differs)
    heats = {key.temperature for key in keys}
    if len(heats) > 1:
        params.pop("temperature", None)
        lines.append("# They were measured at different temperatures; a run has one for all judges.")
    elif (heat := heats.pop()) is not None and params.get("temperature") != heat:
        params["temperature"] = int(heat) if heat.is_integer() else heat
    texts = [_text(f"{name}={json.dumps(value, ensure_ascii=False)}") for name, value in params.items()]
    lines += [f"param = [{', '.join(texts)}]"] if texts else []
    lines += ["expected = true"] if any(one.expected for one in known) else []
    if len(keys) == 1 and known and known[0].price is not None:  # in settings files, a panel has no price
        lines.append(f'price = "{",".join(f"{amount:.15g}" for amount in known[0].price)}"')
    return lines


def _rubric(way: Way, files: Mapping[str, str]) -> list[str]:
    """Return lines with the rubric that the judges of a way were asked with, if it is one whose file is known."""
    variant = way.prompt_variant
    if not variant:
        return []
    unknown = (
        f"# Its rubric is not known here: calibrate --rubric FILE, with the file named {_comment(variant)}, adds it."
    )
    return [
        f"# Measured with the prompt variant {_comment(variant)}.",
        f"rubric = {_text(files[variant])}" if variant in files else unknown,
    ]


def _questions(way: Way, figures: Sequence[JudgeFigures]) -> list[str]:
    lines = [f'protocol = "{way.protocol}"']
    orders = way.orders
    if way.protocol == "pairwise":
        rates = [one.order_flip_rate for one in figures if one.order_flip_rate is not None]
        if rates:
            lines.append(f"# {max(rates):.0%} of pairs flip when the order is swapped.")
        else:
            orders = 2
            lines.append("# Position bias is unknown: ask both orders, at twice the price, until it is known.")
    lines += [f"orders = {orders}", f"samples = {way.samples}"]
    if way.resolve is not None:
        lines += [
            "# calipers stops asking once more calls would not change the ranking.",
            "# Measured with the judge's noise known from earlier answers; until it is, every group is asked twice.",
            f"resolve = {way.resolve:g}",
            f"most = {way.most}",
        ]
    return lines


def _figures_of(way: Way, judges: Sequence[JudgeFigures]) -> list[JudgeFigures]:
    return [one for one in judges if one.key in way.keys]


def _name(judge: str, names: Mapping[str, str]) -> str:
    return _comment(names.get(judge, judge))


def _comment(text: str) -> str:
    """Return text on one line, so that it stays inside its TOML comment."""
    return " ".join(text.split())


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)
