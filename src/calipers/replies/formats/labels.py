"""Maps the values of a reply in a known format to the caller's labels or ids.

A format's own names (``A``, ``model_1``, ``m``) refer to candidates in the order in which the prompt listed them,
unless the caller uses those very names. ``values`` finds the values in the reply.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from calipers.replies.compare.claims import TIE, concluded_labels, find_claims
from calipers.replies.compare.references import do_names_clash, fold_name
from calipers.replies.formats.known import Format
from calipers.replies.formats.values import StatedValue, ranked_models, stated_value
from calipers.replies.rejected import Rejected
from calipers.replies.scores.found import Unread
from calipers.replies.scores.scales import OutOfRange, scores_on_scale
from calipers.replies.scores.values import read_score_value
from calipers.replies.sentences import split_sentences
from calipers.types import Outcome

Scale = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Preferred:
    """The preference of a reply in a known format: a label's position or TIE, and the ``margin`` (0-1) if known."""

    place: int
    outcome: Outcome
    reason: str | None = None
    margin: float | None = None


def preferred_label(text: str, labels: tuple[str, ...], form: Format) -> Preferred:
    """Extract which of ``labels`` a reply in ``form`` prefers: by ranking, mark or scores. Raises Rejected."""
    if len(labels) < 2 or len(set(labels)) < len(labels):
        raise Rejected("fewer than two different labels to choose from")
    first: Rejected | None = None
    for read in _ways(form):
        try:
            return read(text, labels, form)
        except Rejected as reject:
            if reject.doubt or reject.truncated:
                raise
            first = first or reject
    raise first or Rejected(f"no choice in the place that the format {form.name} defines", nowhere=True)


def _ways(form: Format) -> Iterator[Callable[[str, tuple[str, ...], Format], Preferred]]:
    if form.order:
        yield lambda text, labels, form: Preferred(ranked_positions(text, labels, form)[0], "strict")
    if form.names:
        yield _by_mark
    if form.numbers in ("each", "any", "listed"):
        yield _by_score


def _by_mark(text: str, labels: tuple[str, ...], form: Format) -> Preferred:
    found = stated_value(text, form, "choice", count=len(labels))
    place, margin = found.value
    if place == TIE:
        return Preferred(TIE, found.outcome, found.reason, margin)
    label = labels_by_position(labels, form).get(place)
    if label is None:
        reason = f"the reply names a candidate that was not shown: number {place + 1} of {len(labels)}"
        raise Rejected(reason, doubt=True)
    if _is_contradicted(found, place, form):
        raise Rejected("the verdict and the conclusion in prose name different candidates", doubt=True)
    return Preferred(label, found.outcome, found.reason, margin)


def _by_score(text: str, labels: tuple[str, ...], form: Format) -> Preferred:
    own = form.scale or (0.0, 1.0)
    scores, found, _ = read_formatted_scores(text, labels, form, scale=own, out_of_range="reask", cut=False)
    best, *rest = sorted((scores[label] for label in labels), reverse=True)
    winners = [place for place, label in enumerate(labels) if scores[label] == best]
    if 1 < len(winners) < len(labels):
        raise Rejected("several of the candidates share the highest score")
    margin = (best - rest[0]) / (own[1] - own[0])
    return Preferred(TIE if len(winners) > 1 else winners[0], found.outcome, found.reason, margin)


def labels_by_position(labels: tuple[str, ...], form: Format) -> Mapping[int, int]:
    """Return the caller's label for each candidate position of a reply format to extract from.

    Labels that are the format's own names match by name, other labels by position.
    """
    known, fold = _own_names(form)
    places = [known.get(fold(label), -1) for label in labels]
    if -1 in places or len(set(places)) < len(places):
        return {place: place for place in range(len(labels))}
    return {place: label for label, place in enumerate(places)}


def _own_names(form: Format) -> tuple[Mapping[str, int], Callable[[str], str]]:
    fold = str.strip if do_names_clash([name for names in form.names for name in names]) else fold_name
    return {fold(name): place for place, names in enumerate(form.names) for name in names}, fold


def _is_contradicted(found: StatedValue, place: int, form: Format) -> bool:
    """Whether the judge's prose and the judge's mark prefer different candidates, if there are two candidates."""
    if found.reply is None or found.reason is not None or len(form.names) != 2:
        return False
    conclusions = concluded_labels(
        find_claims(split_sentences(found.reply.text), tuple(names[0] for names in form.names))
    )
    return bool(conclusions) and place not in conclusions


def read_formatted_scores(
    text: str, ids: tuple[str, ...], form: Format, *, scale: Scale | None, out_of_range: OutOfRange, cut: bool
) -> tuple[dict[str, float], StatedValue, OutOfRange | None]:
    """Extract the scores of ``ids`` from a reply in ``form``, on the caller's scale.

    The other two results are the place of the scores, and the out-of-range rule if it was applied. ``cut``: the reply
    was cut off. The format must give scores by position, not by name. Raises Rejected.
    """
    if form.numbers == "one" and len(ids) != 1:
        raise Rejected(f"the format {form.name} has one score, and {len(ids)} were asked for")
    found = stated_value(text, form, "scores", count=len(ids))
    if cut and found.last:
        raise Rejected("the score may be cut off", truncated=True)
    own = form.scale or scale or (0.0, 1.0)
    values = {}
    for id_, written in zip(ids, found.value, strict=True):
        value = read_score_value(written, own)
        if isinstance(value, Unread):
            raise Rejected(value.reason)
        values[id_] = value
    numbers, adjusted = scores_on_scale(values, own, out_of_range, complete=True)
    return convert_scores(numbers, own, scale or own), found, adjusted


def convert_scores(numbers: Mapping[str, float], own: Scale, scale: Scale) -> dict[str, float]:
    """Convert extracted scores from a reply format's own scale to the caller's scale.

    Scores stay unchanged if both scales have the same top (1-10, 0-10). Otherwise the conversion is linear.
    """
    (low, high), (bottom, top) = own, scale
    if top == high and bottom <= low:
        return dict(numbers)
    return {id_: bottom + (number - low) / (high - low) * (top - bottom) for id_, number in numbers.items()}


def ranked_positions(text: str, ids: tuple[str, ...], form: Format) -> tuple[int, ...]:
    """Extract the positions of ``ids``, best first, from the models and ranks in a reply's rows. Raises Rejected.

    The rows must name each candidate once.
    """
    names = ranked_models(text)
    known, fold = _own_names(form)
    own = labels_by_position(ids, form)
    places = [ids.index(name) if name in ids else own.get(known.get(fold(name), -1), -1) for name in names]
    if sorted(places) != list(range(len(ids))):
        raise Rejected("the ranking does not name each candidate once", doubt=True)
    return tuple(places)
