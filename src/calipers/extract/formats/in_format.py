"""Replies in a known format, put to the labels or ids of the caller.

A format's own names (``A``, ``model_1``, ``m``) stand for candidates in the order in which they were shown, unless the
caller uses those very names. Not responsible for finding values (``formatted``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from calipers.extract.compare.claims import TIE, claims
from calipers.extract.compare.references import clashing, folded
from calipers.extract.formats.formatted import Stated, Unstated, listed, ordered, stated
from calipers.extract.formats.known import Format
from calipers.extract.scores.found import Unread
from calipers.extract.scores.prose import sentences
from calipers.extract.scores.scales import OutOfRange, on_scale
from calipers.extract.scores.values import read_value
from calipers.types import Outcome

Scale = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Preferred:
    """``place`` is a label's position or TIE; ``margin`` (0-1) by how much, where the format says."""

    place: int
    outcome: Outcome
    reason: str | None = None
    margin: float | None = None


@dataclass(frozen=True, slots=True)
class Scored:
    """Scores by id, in units of the caller's scale."""

    scores: dict[str, float]
    outcome: Outcome
    reason: str | None = None
    adjusted: OutOfRange | None = None


def prefers(text: str, labels: tuple[str, ...], form: Format) -> Preferred | Unstated:
    """Which of ``labels`` a reply in ``form`` prefers: by its ranking, its mark, or its scores."""
    if len(labels) < 2 or len(set(labels)) < len(labels):
        return Unstated("fewer than two different labels to choose from")
    first: Unstated | None = None
    for read in _ways(form):
        found = read(text, labels, form)
        if isinstance(found, Preferred) or found.doubt or found.truncated:
            return found
        first = first or found
    return first or Unstated(f"no choice where the format {form.name} has it", nowhere=True)


def _ways(form: Format) -> Iterator[Callable[[str, tuple[str, ...], Format], Preferred | Unstated]]:
    if form.order:
        yield _by_order
    if form.names:
        yield _by_mark
    if form.numbers in ("each", "any", "listed"):
        yield _by_score


def _by_order(text: str, labels: tuple[str, ...], form: Format) -> Preferred | Unstated:
    found = ranks(text, labels, form)
    return found if isinstance(found, Unstated) else Preferred(found[0], "strict")


def _by_mark(text: str, labels: tuple[str, ...], form: Format) -> Preferred | Unstated:
    found = stated(text, form, "choice", count=len(labels))
    if isinstance(found, Unstated):
        return found
    place, margin = found.value
    if place == TIE:
        return Preferred(TIE, found.outcome, found.reason, margin)
    label = shown(labels, form).get(place)
    if label is None:
        return Unstated(
            f"the reply names a candidate that was not shown: number {place + 1} of {len(labels)}", doubt=True
        )
    if _contradicted(found, place, form):
        return Unstated("the verdict and the conclusion in prose name different candidates", doubt=True)
    return Preferred(label, found.outcome, found.reason, margin)


def _by_score(text: str, labels: tuple[str, ...], form: Format) -> Preferred | Unstated:
    own = form.scale or (0.0, 1.0)
    found = scores(text, labels, form, scale=own, out_of_range="reask", cut=False)
    if isinstance(found, Unstated):
        return found
    best, *rest = sorted((found.scores[label] for label in labels), reverse=True)
    winners = [place for place, label in enumerate(labels) if found.scores[label] == best]
    if 1 < len(winners) < len(labels):
        return Unstated("several of the candidates share the highest score")
    margin = (best - rest[0]) / (own[1] - own[0])
    return Preferred(TIE if len(winners) > 1 else winners[0], found.outcome, found.reason, margin)


def shown(labels: tuple[str, ...], form: Format) -> Mapping[int, int]:
    """The label of each of the format's candidates: by name where the labels are the format's own names, else by place."""
    known, fold = _own_names(form)
    places = [known.get(fold(label), -1) for label in labels]
    if -1 in places or len(set(places)) < len(places):
        return {place: place for place in range(len(labels))}
    return {place: label for label, place in enumerate(places)}


def _own_names(form: Format) -> tuple[Mapping[str, int], Callable[[str], str]]:
    fold = str.strip if clashing([name for names in form.names for name in names]) else folded
    return {fold(name): place for place, names in enumerate(form.names) for name in names}, fold


def _contradicted(found: Stated, place: int, form: Format) -> bool:
    """Whether the judge's words conclude for another of two candidates than its mark names."""
    if found.reply is None or found.reason is not None or len(form.names) != 2:
        return False
    said = claims(sentences(found.reply.text), tuple(names[0] for names in form.names))
    drawn = {claim.who for claim in said if claim.strength == "strong" and claim.concluding and claim.who >= 0}
    return bool(drawn) and place not in drawn


# --- scores ---------------------------------------------------------------------------------------------------------


def scores(
    text: str, ids: tuple[str, ...], form: Format, *, scale: Scale | None, out_of_range: OutOfRange, cut: bool
) -> Scored | Unstated:
    """The scores of ``ids`` in a reply in ``form``, which is not one by names. ``cut``: the reply was cut off."""
    if form.numbers == "one" and len(ids) != 1:
        return Unstated(f"the format {form.name} holds one score, and {len(ids)} were asked for")
    found = listed(text, form, len(ids)) if form.numbers == "listed" else stated(text, form, "scores", count=len(ids))
    if isinstance(found, Unstated):
        return replace(found, truncated=found.truncated or cut)
    if cut and found.last:
        return Unstated("the score may be cut off", truncated=True)
    own = form.scale or scale or (0.0, 1.0)
    values = {id_: read_value(written, own) for id_, written in zip(ids, found.value, strict=True)}
    unread = next((value.reason for value in values.values() if isinstance(value, Unread)), None)
    if unread is not None:
        return Unstated(unread)
    read = {id_: value for id_, value in values.items() if not isinstance(value, Unread)}
    numbers, problem, adjusted = on_scale(read, own, out_of_range, complete=True)
    if problem is not None:
        return Unstated(problem, doubt=True)
    return Scored(converted(numbers, own, scale or own), found.outcome, found.reason, adjusted)


def converted(numbers: Mapping[str, float], own: Scale, scale: Scale) -> dict[str, float]:
    """Scores from a format's own scale on the caller's: as they are where both end alike (1-10, 0-10), else linearly."""
    (low, high), (bottom, top) = own, scale
    if top == high and bottom <= low:
        return dict(numbers)
    return {id_: bottom + (number - low) / (high - low) * (top - bottom) for id_, number in numbers.items()}


# --- rankings -------------------------------------------------------------------------------------------------------


def ranks(text: str, ids: tuple[str, ...], form: Format) -> tuple[int, ...] | Unstated:
    """The places of ``ids``, best first, by rows of models and ranks that name each of them."""
    found = ordered(text)
    if isinstance(found, Unstated):
        return found
    known, fold = _own_names(form)
    own = shown(ids, form)
    places = [ids.index(name) if name in ids else own.get(known.get(fold(name), -1), -1) for name in found.value]
    if sorted(places) != list(range(len(ids))):
        return Unstated("the ranking does not name each candidate once", doubt=True)
    return tuple(places)
