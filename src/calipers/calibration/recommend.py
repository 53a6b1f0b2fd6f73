"""Write the recommendation of a calibration as a block of TOML: which judges to query, how, and how often."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np

from calipers.aggregators.panel import RESTS_ON_ONE
from calipers.backends.names import is_stand_in, short_names
from calipers.calibration import measures
from calipers.calibration.choice import SHARE_OF_BEST, Choice
from calipers.calibration.measures import Interval
from calipers.calibration.metrics import JudgeFigures, counts_as_text
from calipers.calibration.records import Cost, Key, Measure
from calipers.calibration.ways import Way
from calipers.config.settings import Settings

_MOST_RELATED: Final = 0.99
_UNITS: Final[Mapping[Measure, str]] = {
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
    asked: Mapping[Key, Settings] | None = None,
) -> str:
    """Return the recommendation: a block of TOML for calipers.toml, with a reason above every line.

    ``rubrics`` are the files of prompt variants, by the variant's name. ``asked`` are the settings with which judges
    were asked, as far as their answers do not say it.
    """
    names = short_names(judge.judge for judge in judges)
    if choice is None:
        return _no_recommendation(judges, limit)
    way = choice.way
    figures = [judge for judge in judges if judge.key in way.keys]
    measured = list(_measured(choice, figures, names))
    if not choice.is_usable:
        return _no_better_than_chance(choice, measured, names)
    lines = [
        *measured,
        *_price(choice, limit, names),
        *_judges(way, names),
        *request_lines(way.keys, asked or {}, names),
        *_question(way, figures, rubrics or {}),
    ]
    return "\n".join(lines) + "\n"


def _no_recommendation(judges: Sequence[JudgeFigures], limit: Mapping[Measure, float] | None) -> str:
    measured = [judge for judge in judges if judge.advantage_fidelity is not None]
    if measured and all(is_stand_in(figures.judge) for figures in measured):
        names = sorted({_one_line(figures.judge) for figures in measured})
        are = "is" if len(names) == 1 else "are"
        return f"# No recommendation: {', '.join(names)} {are} not for training alone. Measure a model.\n"
    if limit and measured:
        return (
            f"# No recommendation: no measured way is known to cost at most {_limits(limit)} a group.\n"
            "# Raise the limit, or set it in a unit that the recorded answers contain.\n"
        )
    return "# No recommendation: agreement with gold could not be measured.\n"


def _no_better_than_chance(choice: Choice, measured: Sequence[str], names: Mapping[str, str]) -> str:
    remedy = "Add groups, or measure another judge."
    if choice.chance_interval and choice.chance_interval[1] < 0:
        remedy = "Better members get lower scores. Check that a higher gold means better, or measure another judge."
    elif (shown := measures.smallest_shown(choice.chance_interval)) and choice.silent_groups < 0.5:
        remedy = f"So many groups could show a fidelity of {shown:.2f}. {remedy}"
    way = _one_line(choice.way.called(names))
    return "\n".join((f"# No recommendation: {way}: not known to be better than chance.", *measured, f"# {remedy}\n"))


def _limits(limit: Mapping[Measure, float]) -> str:
    return " and ".join(f"{amount:g} {_UNITS[kind]}" for kind, amount in limit.items())


def _measured(choice: Choice, figures: Sequence[JudgeFigures], names: Mapping[str, str]) -> Iterator[str]:
    """Yield comments on what the choice rests on, and on groups without a score: of the way, and of each judge."""
    fidelity = choice.way.fidelity
    known = len(fidelity) - int(np.isnan(fidelity).sum())
    interval = measures.bootstrap_interval(fidelity)
    tried = f"The best of {choice.tried:,} ways tried. " if choice.tried > 1 else ""
    yield f"# {tried}Measured on {known} group{'s' * (known != 1)}: advantage fidelity {_level(fidelity, interval)}."
    if choice.fidelity is not None:
        yield f"# On groups that had no part in the choice: {choice.fidelity:.3f}{_ends(choice.interval)}."
    if not choice.common_groups:
        yield "# No group was put to all judges: ways were compared in pairs, or each on its own."
    if aside := sorted({_name(way.judges[0], names) for way in choice.aside}):
        yield f"# Not compared, because they were asked about too few groups: {', '.join(aside)}."
    if choice.silent_groups >= 0.5:
        yield f"# {choice.silent_groups:.0f} of {known} groups get no score in this way. They count as 0 above."
    for figure in figures:
        if total := figure.missing.total():
            gave = f"{_name(figure.judge, names)} gave no score in {total} of {total + figure.groups} groups"
            yield f"# In all its calls, {gave}: {counts_as_text(figure.missing)}."


def _level(fidelity: measures.Array, interval: Interval | None) -> str:
    return f"{measures.mean_over_groups(fidelity):.3f}{_ends(interval)}"


def _ends(ends: Interval | None) -> str:
    return "" if ends is None else f" [{ends[0]:.3f}, {ends[1]:.3f}]"


def _price(choice: Choice, limit: Mapping[Measure, float] | None, names: Mapping[str, str]) -> Iterator[str]:
    way, dearest = choice.way, choice.frontier[-1]
    yield f"# A group costs {_as_text(way.cost)}."
    if limit:
        yield f"# The best way that costs at most {_limits(limit)} a group."
    elif None not in (costs := [chosen.cost.of(choice.measure) for chosen in (way, dearest)]) and costs[0] != costs[1]:
        level = f"{_level(dearest.fidelity, None)} for {_as_text(dearest.cost)}"
        share = f"{SHARE_OF_BEST:.1%} of the best way's fidelity, less one standard error"
        yield f"# It is the cheapest, in {_UNITS[choice.measure]}, with {share}."
        yield f"# The best way costs more: {_one_line(dearest.called(names))}: {level}."


def _as_text(cost: Cost) -> str:
    tokens = cost.of("tokens")
    parts = [f"{cost.calls:.3g} call{'' if cost.calls == 1 else 's'}", f"{cost.shown:.3g} transcripts read"]
    parts += [] if tokens is None else [f"{tokens:,.0f} tokens"]
    parts += [] if cost.cost_usd is None else [f"${cost.cost_usd:.4g}"]
    return ", ".join(parts)


def _judges(way: Way, names: Mapping[str, str]) -> Iterator[str]:
    if way.weights is None:
        yield f"judge = [{_text(way.judges[0])}]"
        return
    shares = [f"{names.get(name, name)} {share:.2f}" for name, share in zip(way.judges, way.weights, strict=True)]
    yield f"# Weights, learned from gold: {_one_line(', '.join(shares))}."
    if max(way.weights) > RESTS_ON_ONE:
        yield "# The panel rests on one member: the others hardly move its rewards."
    yield f"judge = {json.dumps(list(way.judges), ensure_ascii=False)}"
    yield 'panel = "all"'
    yield f'weights = "{",".join(f"{share:.4g}" for share in way.weights)}"'
    related, size = way.error_correlation, len(way.keys)
    if related is not None and related > 0:
        votes = size / (1 + (size - 1) * related)  # the design effect (Kish 1965)
        yield f"# Their errors go together: they are as good as {votes:.1f} judges with unrelated errors."
        yield f"error_correlation = {min(related, _MOST_RELATED):.2g}"


def request_lines(keys: Sequence[Key], asked: Mapping[Key, Settings], names: Mapping[str, str]) -> Iterator[str]:
    """Yield lines that ask the judges of a way as calibration did; ``asked`` lacks judges of recorded answers.

    A run has one temperature and one set of params for all judges, so what differs is named and left out.
    """
    if unknown := ", ".join(_name(key.judge, names) for key in keys if key not in asked):
        yield f"# {unknown}: recorded answers do not say with which param and expected; set them as they were then."
    known = [asked[key] for key in keys if key in asked]
    requests = [{"temperature": None} | dict(settings.calls.params or {}) for settings in known]
    shared: dict[str, Any] = {"temperature": keys[0].temperature}
    different = {"temperature"} if len({key.temperature for key in keys}) > 1 else set[str]()
    for name, value in (item for params in requests for item in params.items() if item[0] != "temperature"):
        shared[name] = value
        if any(params.get(name) != value for params in requests):
            different.add(name)
    if different:
        yield f"# The judges were asked with different values of {', '.join(map(_text, sorted(different)))}."
    params = {name: value for name, value in shared.items() if name not in different and value is not None}
    if params:
        texts = (f"{name}={_number(value)}" for name, value in params.items())
        yield f"param = [{', '.join(map(_text, texts))}]"
    if any(settings.question.expected for settings in known):
        yield "expected = true"
    price = known[0].calls.price if len(keys) == len(known) == 1 else None  # a panel in a settings file has none
    if price is not None and not isinstance(price, Mapping):
        yield f'price = "{",".join(f"{amount:.15g}" for amount in price)}"'


def _number(value: Any) -> str:
    """Return a parameter's value as JSON; 0.0 is 0."""
    whole = isinstance(value, float) and value.is_integer()
    return json.dumps(int(value) if whole else value, ensure_ascii=False)


def _question(way: Way, figures: Sequence[JudgeFigures], files: Mapping[str, str]) -> Iterator[str]:
    """Yield the rubric (if its file is known), the protocol, and how often a group is asked about."""
    if variant := way.prompt_variant:
        yield f"# Measured with the prompt variant {_one_line(variant)}."
        if variant in files:
            yield f"rubric = {_text(files[variant])}"
        else:
            named = f"with the file named {_one_line(variant)}"
            yield f"# Its rubric is not known here: calibrate --rubric FILE, {named}, adds it."
    yield f'protocol = "{way.protocol}"'
    orders = way.orders
    if way.protocol == "pairwise":
        rates = [figure.order_flip_rate for figure in figures if figure.order_flip_rate is not None]
        if rates:
            yield f"# {max(rates):.0%} of pairs flip when the order is swapped."
        else:
            orders = 2
            yield "# Position bias is unknown: ask both orders, at twice the price, until it is known."
    yield f"orders = {orders}"
    yield f"samples = {way.samples}"
    yield from (
        f"# {figure.dead_groups} of {figure.groups_judged} groups have all scores tied." for figure in figures[:1]
    )


def _name(judge: str, names: Mapping[str, str]) -> str:
    return _one_line(names.get(judge, judge))


def _one_line(text: str) -> str:
    """Return text on one line, so that it stays inside its TOML comment."""
    return " ".join(text.split())


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)
