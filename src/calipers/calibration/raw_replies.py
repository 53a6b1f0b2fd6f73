"""Read recorded replies in a known format into the fields of a judgment record.

A line with a ``format`` and a ``raw_text`` needs no ``parsed``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from calipers.errors import ConfigError, InputError
from calipers.replies.compare import extract_choice, extract_ranking
from calipers.replies.formats.known import Format, format_named
from calipers.replies.scores import extract_scores
from calipers.replies.verdict import extract_verdict


def parse_raw_reply(value: Mapping[str, Any], order: Sequence[str], name: str) -> Mapping[str, Any]:
    """Return ``parsed``, ``mode`` and ``scale`` of a calibration line with ``raw_text`` in the format ``name``.

    ``parsed`` is None if nothing can be read. Raises InputError for an unknown format, or for a format that does not
    fit the line's mode.
    """
    try:
        form = format_named(name)
    except ConfigError as error:
        raise InputError(str(error)) from None
    raw = value.get("raw_text")
    if not isinstance(raw, str):
        raise InputError("'format' describes 'raw_text', which must be text")
    mode = value.get("mode")
    if "choice" in form.reads and len(order) == 2 and mode in (None, "pairwise"):
        return {"mode": "pairwise", "parsed": _winner(raw, order, form)}
    if "ranking" in form.reads and mode in (None, "listwise"):
        ranking = extract_ranking(raw, order, format=form.name).ranking
        return {"mode": "listwise", "parsed": {"ranking": list(ranking)} if ranking else None}
    if "scores" in form.reads and mode != "pairwise":
        return _scores(raw, value, order, form)
    if "verdict" in form.reads and mode in (None, "pointwise") and len(order) == 1:
        met = extract_verdict(raw, format=form.name).met
        return {
            "mode": "pointwise",
            "scale": [0, 1],
            "parsed": None if met is None else {"scores": {order[0]: int(met)}},
        }
    holds = " and ".join(form.reads)
    raise InputError(f"format {form.name!r} holds {holds}, which is nothing for mode {mode!r} with {len(order)} ids")


def _winner(raw: str, order: Sequence[str], form: Format) -> dict[str, Any] | None:
    reading = extract_choice(raw, order, format=form.name)
    return None if reading.choice is None else {"winner": reading.choice, "margin": reading.margin}


def _scores(raw: str, value: Mapping[str, Any], order: Sequence[str], form: Format) -> dict[str, Any]:
    scale = form.scale if value.get("scale") is None else _scale(value["scale"])
    if scale is None:
        raise InputError(f"format {form.name!r} has no scale: add 'scale', as [lowest, highest]")
    scores = extract_scores(raw, order, scale=scale, format=form.name).scores
    mode = value.get("mode") or ("pointwise" if len(order) == 1 else "listwise")
    return {"mode": mode, "scale": list(scale), "parsed": {"scores": scores} if scores else None}


def _scale(given: object) -> tuple[float, float]:
    match given:
        case [int() | float() as low, int() | float() as high] if -1e100 < low < high < 1e100:
            return float(low), float(high)
        case _:
            raise InputError("'scale' must be [lowest, highest]")
