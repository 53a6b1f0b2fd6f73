"""Reads a comparison of judges (``comparison.json`` of ``calipers study compare``) for the page's view of judges.

What a file lacks is None, never 0, with the reason where the file has one. Not responsible for other files about judges
(``judge_files``), or for what the figures mean (``study.comparison``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

from calipers.report.judge_values import bare_judge, figure_list, json_document, list_of, short_text
from calipers.types.encoding import measured_number

COMPARISON: Final = re.compile(rb'^(?:\xef\xbb\xbf)?\s*\{\s*"format"\s*:\s*"calipers-comparison/1"')
"""The beginning of a comparison's file."""
_REMEDY: Final = "write it with `calipers study compare`"
_MOST_MOVED: Final = 20
_FIGURES: Final = {
    "fidelity": ("agreement", "pearson"), "noise": ("repeatability", "noise"),
    "repeatability": ("repeatability", "reliability"), "failures": ("failures", "rate"), "injection": ("injection",),
}  # fmt: skip
"""Figures of a judge in the page, by name, and where a comparison's ``measures`` have them."""
_Cells: TypeAlias = Sequence[Mapping[str, Any]]
_UNITS: Final = "length in doublings, markdown in doublings of marks, confidence in doublings, flattery in phrases"


def read_comparison(path: str, *, redact: bool = False) -> dict[str, Any]:
    """Return what a comparison says, as plain data for the page. Raises InputError for a file that cannot be read.

    With ``redact``, it is not said why a judge failed, which may quote a reply.
    """
    found = json_document(path, what="a comparison", remedy=_REMEDY)
    cells = [one for one in list_of(found.get("cells")) if isinstance(one, Mapping)]
    names = [short_text(one.get("name")) or "a judge without a name" for one in cells]
    judges = [_judge(name, one, redact=redact) for name, one in zip(names, cells, strict=True)]
    return {
        "kind": "comparison",
        "source": Path(path).name,
        "title": short_text(found.get("title")) or "",
        "alpha": measured_number(found.get("alpha")),
        "judges": judges,
        "cards": [card for card in _cards(found, names, cells) if card["rows"]],
        "moved": [_moved(one) for one in list_of(found.get("moved"))[:_MOST_MOVED] if isinstance(one, Mapping)],
        "notes": [text for one in list_of(found.get("notes")) if (text := short_text(one))],
    }


def _judge(name: str, cell: Mapping[str, Any], *, redact: bool) -> dict[str, Any]:
    measures = _mapping(cell.get("measures"))
    known = {key: _at(measures, place) for key, place in _FIGURES.items()}
    position = _mapping(measures.get("position"))
    return bare_judge(name) | {
        "groups": measured_number(cell.get("groups")),
        "failed": None if redact and cell.get("failed") else short_text(cell.get("failed")),
        "answers": measured_number(_mapping(cell.get("scores")).get("scores")),
        "figures": {key: _figure(one) for key, one in known.items()},
        "unknown": {key: reason for key, one in known.items() if (reason := _reason(one)) is not None},
        "positions": [_figure(one) for one in list_of(position.get("curve"))],
    }


def _cards(found: Mapping[str, Any], names: Sequence[str], cells: _Cells) -> Iterator[dict[str, Any]]:
    yield _card(
        "What a rewrite adds",
        "What each rewrite of the same answer adds to its score, from 0 to 1, with its 95 % interval.",
        _effects(names, [cell.get("rewrites") for cell in cells]),
        heads=("rewrite, judge", "added"),
        zero="nothing",
    )
    yield _card(
        "What a unit of a feature adds",
        f"To the score, from 0 to 1, the other features equal: {_UNITS}.",
        _effects(names, [cell.get("per_unit") for cell in cells]),
        heads=("feature, judge", "added"),
        zero="nothing",
    )
    yield _card(
        "Predicted drift",
        "The covariance of a feature with the advantage in the first step of GRPO, as simulated (tier 1).",
        _effects(names, [_mapping(cell.get("drift")).get("by_feature") for cell in cells]),
        heads=("feature, judge", "drift"),
        zero="none",
    )
    pairs = [
        _row(f"{short_text(one.get('first'))} and {short_text(one.get('second'))}", one.get("tau_b"))
        for one in list_of(found.get("pairs"))
        if isinstance(one, Mapping)
    ]
    yield _card(
        "Agreement of judges",
        "Kendall's tau-b of mean scores within groups: 1 is the same order, 0 chance.",
        pairs,
        heads=("judges", "tau-b"),
        zero="chance",
    )
    criteria = [one for one in list_of(found.get("criteria")) if isinstance(one, Mapping)]
    yield _card(
        "Criteria on which judges differ",
        "The share of pairs of judges with different verdicts on an answer (of scores, their mean distance).",
        [_row(short_text(one.get("criterion")) or "?", {"value": one.get("disagreement")}) for one in criteria],
        heads=("criterion", "difference"),
    )
    yield _cost(names, cells)


def _cost(names: Sequence[str], cells: _Cells) -> dict[str, Any]:
    """Return the card of the costs, in dollars if all are known, else in tokens."""
    costs = [_mapping(cell.get("cost")) for cell in cells]
    dollars = [measured_number(one.get("cost_usd")) for one in costs]
    tokens = [[measured_number(one.get(f"{name}_tokens")) for name in ("input", "output")] for one in costs]
    counted = [None if None in both else sum(one or 0.0 for one in both) for both in tokens]
    in_dollars = any(dollars) and None not in dollars
    rows = [_row(name, {"value": one}) for name, one in zip(names, dollars if in_dollars else counted, strict=True)]
    what = "dollars" if in_dollars else "tokens"
    card = _card("Cost", f"Of the questions without rewrites, in {what}.", rows, heads=("judge", what))
    return card | {"bars": True, "format": what}


def _card(
    title: str, note: str, rows: Iterable[dict[str, Any]], *, heads: tuple[str, str], zero: str | None = None
) -> dict[str, Any]:
    """Return a figure with a row for each judge; ``zero`` is what a value of 0 means."""
    label, what = heads
    texts = {"title": title, "note": note, "label": label, "what": what, "zero": zero}
    return {**texts, "rows": list(rows), "bars": False, "format": None}


def _effects(names: Sequence[str], effects: Sequence[object]) -> list[dict[str, Any]]:
    """Return a row for each effect and judge: those of one effect together."""
    known = [_mapping(one) for one in effects]
    every = dict.fromkeys(str(name) for one in known for name in one)
    return [
        _row(f"{effect[:200]}, {name}", one[effect])
        for effect in every
        for name, one in zip(names, known, strict=True)
        if effect in one
    ]


def _row(name: str, figure: object) -> dict[str, Any]:
    value, low, high = _figure(figure)
    return {"name": name, "value": value, "low": low, "high": high, "unknown": _reason(figure)}


def _moved(one: Mapping[str, Any]) -> dict[str, Any]:
    scores = _mapping(one.get("scores"))
    return {
        "group": short_text(one.get("group_id")) or "?",
        "answer": short_text(one.get("id")) or "?",
        "scores": [[str(name)[:200], measured_number(value)] for name, value in scores.items()],
    }


def _at(measures: Mapping[str, Any], place: Sequence[str]) -> object:
    found: object = measures
    for key in place:
        found = _mapping(found).get(key)
    return found


def _figure(figure: object) -> list[float | None]:
    known = _mapping(figure)
    return figure_list(known.get("value"), [known.get("low"), known.get("high")])


def _reason(figure: object) -> str | None:
    known = _mapping(figure)
    return None if measured_number(known.get("value")) is not None else short_text(known.get("reason"))


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
