"""What a report says of judges: the health of those that judged its groups, and what calibrations measured.

Each figure is a card: a row for each judge, with a value, its interval and a note. What a file lacks is None, never 0.
No claim is made here: which judge agrees better with gold is said as the calibration says it.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from calipers.errors import InputError
from calipers.inputs.records import open_binary
from calipers.monitoring.alarms import crossed_alarms
from calipers.report.recorded import WINDOW, Tally
from calipers.report.results import list_in
from calipers.types.encoding import measured_number, objects_in

_MOST_BYTES: Final = 2**26
_MOST_TEXT: Final = 4000
_MOST_ROWS: Final = 200
_MOST_REASONS: Final = 12
_REMEDY: Final = "write it with `calipers calibrate GROUPS ... --json`"

_OF_RESULTS: Final = (
    ("scored_rate", "got a reward", "percent"),
    ("abstention_rate", "abstained: no usable answer", "percent"),
    ("failure_rate", "failed: no answer came", "percent"),
    ("attack_rate", "address the judge", "percent"),
    ("tie_rate", "pairs with equal rewards", "percent"),
    ("flat_group_rate", "groups without a gradient", "percent"),
    ("reward_mean", "mean reward", "two"),
    ("reward_std", "spread of rewards in a group", "two"),
    ("stderr_mean", "standard error of a score", "two"),
    ("reliability_mean", "reliability of a group's scores", "two"),
    ("length_correlation", "correlation of reward and length", "two"),
    ("markdown_correlation", "correlation of reward and formatting", "two"),
    ("staleness_mean", "versions of the policy behind", "two"),
)
"""Health metrics of results that the page shows, with a label and a format; docs/health.md explains them."""
_OF_ANSWERS: Final = (
    ("parse_failure_rate", "unreadable replies", "percent"),
    ("incomplete_rate", "incomplete replies", "percent"),
    ("reask_rate", "asked again", "percent"),
    ("order_flip_rate", "pairs that the order changed", "percent"),
    ("canary_win_rate", "decoys that won", "percent"),
    ("cache_hit_rate", "taken from the ledger", "percent"),
    ("noise_sd", "noise of one score", "two"),
    ("position_correlation", "correlation of score and position", "two"),
    ("latency_p50", "seconds, half took less", "two"),
    ("latency_p90", "seconds, nine in ten took less", "two"),
    ("answers", "answers", "whole"),
)
"""The same of a judge's answers."""


def health_of(tally: Tally, source: str, judges: Sequence[str]) -> dict[str, Any]:
    """Return what the page shows of the judges of a source: counts of all groups, and the health of the last ones."""
    metrics = tally.metrics()
    raised, early = crossed_alarms(metrics)
    shown = f"the last {WINDOW}" if tally.groups.total() > WINDOW else "all"
    cost = tally.usage.cost_usd
    cards = [_health_card("Rewards", f"Of {shown} groups.", _OF_RESULTS, metrics)]
    for slot, name in enumerate(judges):
        note = "Of its answers about these groups."
        cards.append(_health_card(_text(name) or "", note, _OF_ANSWERS, tally.metrics(slot)))
    if tally.reasons:
        reasons = [_row(text, count) for text, count in tally.reasons.most_common(_MOST_REASONS)]
        note = "Trajectories without a score, the most frequent reasons."
        cards.append({"title": "No reward, because", "note": note, "bars": True, "format": "whole", "rows": reasons})
    return {
        "kind": "health",
        "source": source,
        "facts": [
            ["groups", _counted(tally.groups)],
            ["trajectories", _counted(tally.trajectories)],
            ["answers", f"{tally.answers:,}"],
            ["tokens", f"{tally.usage.input_tokens:,} in, {tally.usage.output_tokens:,} out"],
            ["cost", "unknown" if cost is None else f"${cost:,.4g}"],
        ],
        "alarms": [alarm.message(metrics) for alarm in raised],
        "early": [f"{alarm.message(metrics)} (an alarm needs {alarm.groups} groups)" for alarm in early],
        "cards": [card for card in cards if card["rows"]],
    }


def _health_card(
    title: str, note: str, known: Sequence[tuple[str, str, str]], metrics: Mapping[str, float]
) -> dict[str, Any]:
    rows = [
        _row(label, metrics[f"judge/{name}"]) | {"format": form}
        for name, label, form in known
        if f"judge/{name}" in metrics
    ]
    return {"title": title, "note": note, "bars": True, "range": [0, 1], "format": "percent", "rows": rows}


def _counted(counts: Counter[str]) -> str:
    return ", ".join(f"{count:,} {status}" for status, count in counts.most_common()) or "none"


def calibration_of(path: str) -> dict[str, Any]:
    """Return what a calibration says, as plain data for the page.

    ``answer`` is its one sentence on which judge agrees better with gold. Raises InputError for a file that
    cannot be read.
    """
    document = _document(path)
    judges = sorted(objects_in(document.get("judges")), key=_best_first)
    if not judges:
        raise InputError(f"has no judges, so it is no calibration; {_REMEDY}", source=path, line=1)
    names = _names(judges)
    findings = objects_in(document.get("findings"))
    return {
        "kind": "calibration",
        "answer": _text(document.get("answer")),
        "judges": names,
        "recommendation": _text(document.get("recommendation")),
        "findings": [
            [_text(finding.get("judge")), _text(finding.get("text")) or ""] for finding in findings[:_MOST_ROWS]
        ],
        "cards": [card for card in _cards(document, judges, names) if card["rows"]],
    }


def _best_first(judge: Mapping[str, Any]) -> float:
    known = measured_number(judge.get("advantage_fidelity"))
    return math.inf if known is None else -known


def _document(path: str) -> Mapping[str, Any]:
    """Return the JSON object in a file. Raises InputError, with the remedy, if it is none."""
    with open_binary(Path(path)) as stream:
        data = stream.read(_MOST_BYTES + 1)
    if len(data) > _MOST_BYTES:
        raise InputError(f"is larger than 64 MB, so it is no calibration; {_REMEDY}", source=path)
    try:
        document = json.loads(data.decode("utf-8-sig"), parse_constant=lambda _: None)
    except (ValueError, RecursionError) as error:  # also no UTF-8, a number with thousands of digits, or too deep
        line = error.lineno if isinstance(error, json.JSONDecodeError) else None
        raise InputError(f"begins as a calibration does, but is not JSON; {_REMEDY}", source=path, line=line) from None
    return _dict(document)


def _names(judges: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a name for each judge; judges that were asked in several ways are distinguished by what differs."""
    names = [_text(judge.get("judge")) or "a judge without a name" for judge in judges]
    asked = [_text(judge.get("asked")) for judge in judges]
    return [
        f"{name} ({how})" if names.count(name) > 1 and how else name for name, how in zip(names, asked, strict=True)
    ]


def _cards(
    found: Mapping[str, Any], judges: Sequence[Mapping[str, Any]], names: Sequence[str]
) -> Iterator[dict[str, Any]]:
    from calipers.calibration.metrics import METRICS  # noqa: PLC0415 - groups are shown without it

    note = "Balanced F1 against people's labels, with its 95 % interval."
    rows = [_figure_row(name, judge, "balanced_f1") for name, judge in zip(names, judges, strict=True)]
    yield _card("Verdicts on criteria", note, rows, range=[0, 1])
    for metric in METRICS:
        if metric.title:
            rows = [_figure_row(name, judge, metric.name) for name, judge in zip(names, judges, strict=True)]
            yield _card(metric.title, metric.note, rows, **metric.drawn)
    rows = [
        _row(f"{name}, position {at}", add)
        for name, judge in zip(names, judges, strict=True)
        for at, add in enumerate(list_in(judge.get("place_curve")), start=1)
    ]
    note = "What each position of a list adds to a score, in units of the scores, beyond what chance explains."
    yield _card("Position bias", note, rows, level={"value": 0, "label": "no bias"})
    yield _frontier(_dict(found.get("search")))


def _card(title: str, note: str, rows: list[dict[str, Any]], **drawn: Any) -> dict[str, Any]:
    """Return a card with the known figures first; without rows, it is not shown."""
    known = any(row["value"] is not None for row in rows)
    rows.sort(key=lambda row: row["value"] is None)
    return {"title": title, "note": note, "format": "two", **drawn, "rows": rows[:_MOST_ROWS] if known else []}


def _figure_row(name: str, judge: Mapping[str, Any], key: str) -> dict[str, Any]:
    note = None
    if key == "failure_rate":
        note = ", ".join(f"{why} {count}" for why, count in _dict(judge.get("missing")).items() if count)
    elif key == "length_preference" and (gold := measured_number(judge.get("gold_length_preference"))) is not None:
        note = f"gold {gold:.2f}"
    elif key == "advantage_fidelity" and (groups := measured_number(judge.get("groups"))) is not None:
        note = f"in {groups:,.0f} groups"
    return _row(name, judge.get(key), judge.get(f"{key}_interval"), note)


def _frontier(search: Mapping[str, Any]) -> dict[str, Any]:
    """Return the best way to ask at each price, and what ways so chosen reach on prompts that had no part in it."""
    rows = []
    for way in objects_in(search.get("frontier")):
        held_out, cost = measured_number(way.get("held_out_fidelity")), _dict(way.get("cost"))
        notes = [_cost(cost), "" if held_out is None else f"held out {held_out:.2f}"]
        interval = way.get("advantage_fidelity_interval")
        note = ", ".join(filter(None, notes))
        rows.append(_row(_text(way.get("name")) or "?", way.get("advantage_fidelity"), interval, note))
    tried = measured_number(search.get("ways_tried"))
    note = (
        f"The best{'' if tried is None else f' of {tried:,.0f} ways tried'} at each price. The best of many looks "
        "better than it is: held out is what is chosen on four fifths of the prompts, measured on the fifth."
    )
    return {"title": "Cost and fidelity", "note": note, "range": [0, 1], "format": "two", "rows": rows[:_MOST_ROWS]}


def _cost(cost: Mapping[str, Any]) -> str:
    calls, usd = measured_number(cost.get("calls")), measured_number(cost.get("cost_usd"))
    parts = [] if calls is None else [f"{calls:.3g} call{'s' * (calls != 1)}"]
    return ", ".join([*parts, *([] if usd is None else [f"${usd:.3g}"])])


def _text(value: object) -> str | None:
    return value[:_MOST_TEXT] if isinstance(value, str) else None


def _dict(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _row(name: str, value: object, interval: object = None, note: str | None = None) -> dict[str, Any]:
    ends = list_in(interval)
    low, high = (measured_number(end) for end in ends) if len(ends) == 2 else (None, None)
    return {"name": name[:_MOST_TEXT], "value": measured_number(value), "low": low, "high": high, "note": note or None}
