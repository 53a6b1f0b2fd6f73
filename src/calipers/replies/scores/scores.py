"""Reads scores from a judge's reply. The result is an outcome and a reason, and never a guess.

This file checks the verdict that counts (the set of ids, finite numbers on one scale) and says what is missing.
``selection`` decides which verdict counts, ``verdicts`` reads JSON shapes, ``documents`` finds JSON, ``lines`` reads
prose and tables. The planners decide what to ask after a reply that could not be read.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, get_args

from calipers.errors import ConfigError
from calipers.replies.rejected import Rejected
from calipers.replies.scores.found import OFF_SCALE, Claim, Found, Unread, Value
from calipers.replies.scores.scales import OutOfRange, mark_unclear_scores, scores_on_scale
from calipers.replies.strictjson import parse_strict_json
from calipers.replies.text import condense_reply, reply_text
from calipers.types import FinishReason, Outcome

if TYPE_CHECKING:
    from calipers.replies.formats.known import Format


@dataclass(frozen=True, slots=True)
class ScoreReading:
    """The scores read from a judge's reply.

    ``scores`` maps ids to numbers on the scale asked for; ``missing`` maps every other id to the reason. ``outcome``:
    ``strict`` (JSON as asked for), ``repaired`` (damaged JSON), ``text`` (prose, table, YAML), ``partial`` (some ids
    missing), ``rejected`` (no score). ``reason`` is None if nothing was wrong.

    The other fields decide what to ask next: ``truncated`` asks for more room; ``doubt`` (the reply contradicts itself
    or is off the scale) asks the whole question again; otherwise only the ``missing`` ids are asked about. ``adjusted``
    names the out-of-range rule that changed the scores, if one did.
    """

    scores: dict[str, float]
    missing: dict[str, str]
    outcome: Outcome
    explanations: dict[str, str] = field(default_factory=dict)
    reason: str | None = None
    doubt: bool = False
    truncated: bool = False
    adjusted: OutOfRange | None = None


def extract_scores(
    text: str | None,
    ids: Sequence[str],
    *,
    scale: tuple[float, float] | None = None,
    out_of_range: OutOfRange = "reask",
    finish_reason: FinishReason | None = None,
    format: str | None = None,  # noqa: A002 - what people call it
) -> ScoreReading:
    """Extract the score of each of ``ids`` from a judge's reply, in units of ``scale`` (low, high).

    Never raises because of the text. A number off the scale puts the whole reply in doubt unless ``out_of_range`` is
    ``rescale`` (one usual scale fits all), ``rank`` (only the order is used) or ``clamp``. ``finish_reason`` ``length``
    means that the reply was cut off, so its end is not trusted. ``scale`` is (0, 1) by default.

    ``format`` names the format that the judge was asked for (docs/reading.md); several scores are in the order of
    ``ids``. Most formats have a scale of their own: scores are converted from it to ``scale``, or stay on it if no
    ``scale`` is given. ``text`` None, as SDKs return for a reply without text, is an empty reply. Raises ConfigError
    for an unknown format, a format without scores, a ``scale`` that is not two finite numbers, the lower one first, an
    unknown ``out_of_range``, and ids or a reply that are no texts.
    """
    text = reply_text(text)
    _require_scale(scale)
    if out_of_range not in get_args(OutOfRange):
        raise ConfigError(f"out_of_range={out_of_range!r}: write one of {', '.join(get_args(OutOfRange))}")
    known = dict.fromkeys(ids)
    if not all(isinstance(id_, str) for id_ in known):
        raise ConfigError(f"ids={list(known)!r:.80}: they must be texts; give list(map(str, ids))")
    ids = tuple(known)
    cut = finish_reason == "length"
    form = _format_named(format) if format is not None else None
    try:
        if form is not None:
            return _in_format(text, ids, form, scale, out_of_range, cut=cut)
        scale = (0, 1) if scale is None else scale
        short = condense_reply(text)
        document = parse_strict_json(short)
        found = Found.as_asked(document, known.keys())
        claim = Claim(found) if found and found.values else _searched(short, document, ids, scale, finish_reason)
        return _checked(claim, ids, text, scale=scale, out_of_range=out_of_range, cut=cut)
    except Rejected as reject:
        missing, truncated = dict.fromkeys(ids, reject.reason), reject.truncated or cut
        return ScoreReading({}, missing, "rejected", reason=reject.reason, doubt=reject.doubt, truncated=truncated)


def _require_scale(scale: object) -> None:
    match scale:
        case None:
            return
        case (float() | int() as low, float() | int() as high) if -math.inf < low < high < math.inf:
            return
    raise ConfigError(f"scale={scale!r}: it must be two finite numbers, the lower one first")


def _searched(
    text: str, document: Any, ids: tuple[str, ...], scale: tuple[float, float], finish_reason: FinishReason | None
) -> Claim:
    """Find the verdict in a reply that is not exactly the JSON asked for."""
    from calipers.replies.scores.selection import find_claim  # noqa: PLC0415 - slow to import, and seldom needed
    from calipers.replies.scores.verdicts import VerdictReader  # noqa: PLC0415 - likewise

    return find_claim(text, document, VerdictReader(ids, scale), finish_reason)


def _format_named(name: str) -> Format:
    from calipers.replies.formats.known import format_named  # noqa: PLC0415 - most who read scores never need it

    return format_named(name, "scores")


def _in_format(
    text: str,
    ids: tuple[str, ...],
    form: Format,
    scale: tuple[float, float] | None,
    rule: OutOfRange,
    *,
    cut: bool,
) -> ScoreReading:
    from calipers.replies.formats.labels import convert_scores, read_formatted_scores  # noqa: PLC0415 - likewise

    if form.numbers == "named":
        own = form.scale or (0, 1)
        text = text if any("_" in id_ for id_ in ids) else text.replace("_", " ")
        reading = extract_scores(text, ids, scale=own, out_of_range=rule, finish_reason="length" if cut else None)
        return replace(reading, scores=convert_scores(reading.scores, own, scale or own))
    scores, stated, adjusted = read_formatted_scores(text, ids, form, scale=scale, out_of_range=rule, cut=cut)
    return ScoreReading(scores, {}, stated.outcome, reason=stated.reason, adjusted=adjusted)


def _checked(
    claim: Claim, ids: tuple[str, ...], text: str, *, scale: tuple[float, float], out_of_range: OutOfRange, cut: bool
) -> ScoreReading:
    """Return the reading of the verdict that counts: its scores on the scale asked for, and why ids are missing."""
    found = claim.found
    claim.check()
    if not found.readable:
        why = next((why for why in OFF_SCALE.values() if why in found.values.values()), None)
        raise Rejected(why.reason if why else "no verdict in the reply", doubt=why is not None, truncated=claim.cut)
    if found.weak and (ids != tuple(map(str, range(1, len(ids) + 1))) or any(id_ not in found.values for id_ in ids)):
        raise Rejected("the ids may be mere positions in the list", doubt=True)
    mark_unclear_scores(found, scale, text, cut=claim.cut or claim.breaks_off or cut)
    values = {id_: value for id_ in ids if type(value := found.values.get(id_)) is Value}
    scores, adjusted = scores_on_scale(values, scale, out_of_range, complete=len(values) == len(ids))
    missing = {id_: _why(found.values.get(id_), claim) for id_ in ids if id_ not in scores}
    return ScoreReading(
        scores,
        missing,
        "partial" if missing else claim.outcome,
        {id_: why for id_, why in found.explanations.items() if id_ in ids},
        "; ".join(dict.fromkeys(missing.values())) or None,
        truncated=claim.cut or (cut and bool(missing)),
        adjusted=adjusted,
    )


def _why(value: Value | Unread | None, claim: Claim) -> str:
    if type(value) is Unread:
        return value.reason
    return "the reply ends before it" if claim.cut else "not in the reply"
