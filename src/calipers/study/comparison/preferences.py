"""What rewrites of an answer change in its score: the same answer, rewritten less original, beside the same rivals.

The score of an answer in a list is modelled as ``answer + list + sum of effects``: every answer and every list has its
own level, so that neither what an answer is worth nor what a list does to all scores in it (a judge of lists compares)
can look like a preference. The effects are the rewrites, or the features of the texts that they change; they are least
squares over all lists of a group, pooled over groups (a two-way fixed-effects model; Mundlak 1978, *Econometrica* 46).
Not responsible for rewriting (``variants``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from calipers.calibration.arrays import Array, Flags
from calipers.calibration.records import Record
from calipers.calibration.series import Frame
from calipers.errors import InputError
from calipers.render import render
from calipers.study.comparison.answers import CellAnswers
from calipers.study.comparison.variants import Texts, variants_of
from calipers.study.profiles.answers import tabulate
from calipers.study.profiles.estimates import estimates
from calipers.study.profiles.figures import Figure, untold
from calipers.study.profiles.positions import solve_normal
from calipers.testing.features import TEXT_FEATURES, text_feature

OWN_FEATURE: Final = {
    "verbose": "length",
    "sycophantic": "flattery",
    "confident": "confidence",
    "confident_wrong": "confidence",
    "formatted": "markdown",
}
"""The feature that each built-in rewrite is about."""
_NOT_ASKED = "no answer to it"
_ALIKE = "no group shows it apart from other rewrites"
_EDGE = 1e-9


@dataclass(frozen=True, slots=True)
class Preferences:
    """What a judge of a comparison adds to a score (0-1) for rewrites and for features of texts.

    ``rewrites`` has the score that each rewrite adds to an answer, ``per_unit`` what a unit of each feature adds with
    the others equal, and ``changes`` how many units of its own feature each rewrite adds, on average.
    """

    rewrites: Mapping[str, Figure] = field(default_factory=dict)
    per_unit: Mapping[str, Figure] = field(default_factory=dict)
    changes: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Lists:
    """Lists of one group: scores (lists, members), NaN unknown, and who is rewritten by what in each.

    ``marks`` has the shape (lists, members, rewrites), ``features`` (lists, members, features).
    """

    scores: Array
    marks: Array
    features: Array


class TextFeatures:
    """The features of a comparison's answers as they are and rewritten: the same for all judges, so measured once."""

    def __init__(self, frame: Frame, texts: Mapping[str, Texts]) -> None:
        self.frame, self.texts = frame, texts
        self._by_group: dict[tuple[str, str], dict[tuple[str, str], str]] = {}
        for rewrite, found in texts.items():
            for place, text in found.items():
                self._by_group.setdefault((rewrite, place[0]), {})[place] = text
        self._found: dict[tuple[int, str, frozenset[str]], Array] = {}

    def of(self, row: int, rewrite: str, ids: frozenset[str]) -> Array:
        """Return each member's features (members, features) in a group of the comparison with ``ids`` rewritten.

        They are NaN where the rewritten texts are not known.
        """
        place = row, rewrite, ids
        if place not in self._found:
            self._found[place] = self._measured(row, rewrite, ids)
        return self._found[place]

    @property
    def originals(self) -> Array:
        """The features of a comparison's answers as they are: (groups, members, features)."""
        rows = range(len(self.frame.groups))
        empty = np.empty((0, self.frame.gold.shape[1], len(TEXT_FEATURES)))
        return np.stack([self.of(row, "", frozenset()) for row in rows]) if rows else empty

    @property
    def quality(self) -> Array:
        """The gold of a comparison's answers, from 0 for the lowest to 1 for the highest; NaN unknown."""
        gold = self.frame.gold
        known = gold[~np.isnan(gold)]
        low, high = (known.min(), known.max()) if len(known) else (0.0, 0.0)
        return np.asarray((gold - low) / (high - low)) if high > low else np.full_like(gold, np.nan)

    def _measured(self, row: int, rewrite: str, ids: frozenset[str]) -> Array:
        found = np.full((self.frame.gold.shape[1], len(TEXT_FEATURES)), np.nan)
        shown = self.frame.groups[row]
        if rewrite:
            texts = self._by_group.get((rewrite, shown.group_id), {})
            own = {place: text for place, text in texts.items() if place[1] in ids}
            variant = next(variants_of(shown, rewrite, own, halves=False), None)
            if variant is None or variant.rewritten != ids:
                return found
            shown = variant.group
        view = render(shown)
        for number, name in enumerate(TEXT_FEATURES):
            for candidate, value in zip(view.candidates, text_feature(name)(view), strict=True):
                found[list(candidate.members), number] = value
        return found


def preferences(cell: CellAnswers, measured: TextFeatures) -> Preferences:
    """Return the preferences of a comparison's judge that its answers about rewritten texts show."""
    names = list(dict.fromkeys([*measured.texts, *(one.rewrite for one in cell.rewritten)]))
    if not names:
        return Preferences()
    lists = _lists_by_group(cell, measured, names)
    alone = cell.key.mode == "pointwise"
    asked = {one.rewrite for one in cell.rewritten}
    effects = _pooled([(one.scores, one.marks) for one in lists.values()], len(names), alone=alone)
    units = _pooled([(one.scores, one.features) for one in lists.values()], len(TEXT_FEATURES), alone=alone)
    found = {name: figure if name in asked else untold(_NOT_ASKED) for name, figure in zip(names, effects, strict=True)}
    return Preferences(found, dict(zip(TEXT_FEATURES, units, strict=True)), _changes(lists.values(), names))


def _lists_by_group(cell: CellAnswers, measured: TextFeatures, names: Sequence[str]) -> dict[int, _Lists]:
    """Return the lists of each group of the frame that was asked about with rewritten members."""
    frame = measured.frame
    parts: dict[tuple[str, frozenset[str]], list[Record]] = {("", frozenset()): list(cell.records)}
    for one in cell.rewritten:
        parts.setdefault((one.rewrite, one.ids), []).append(one.record)
    rows: dict[int, list[_Lists]] = {}
    for (rewrite, ids), records in parts.items():
        try:
            table = tabulate(records, frame) if records else None
        except InputError:  # nothing was answered
            continue
        for row in np.unique(table.group).tolist() if table is not None else ():
            assert table is not None  # noqa: S101 - there are no rows without a table
            own = table.group == row
            scores = np.full((int(own.sum()), frame.gold.shape[1]), np.nan)
            members, values = table.members[own], table.scores[own]
            which, places = np.nonzero(members >= 0)
            scores[which, members[which, places]] = values[which, places]
            marks = np.zeros((*scores.shape, len(names)))
            if rewrite:
                chosen = [column for name, column in frame.columns[row].items() if name in ids]
                marks[:, chosen, names.index(rewrite)] = 1.0
            features = measured.of(row, rewrite, ids)
            spread = np.broadcast_to(features, (len(scores), *features.shape))
            rows.setdefault(row, []).append(_Lists(scores, marks, spread))
    return {row: _joined(found) for row, found in rows.items() if any(one.marks.any() for one in found)}


def _joined(parts: Sequence[_Lists]) -> _Lists:
    return _Lists(
        np.concatenate([one.scores for one in parts]),
        np.concatenate([one.marks for one in parts]),
        np.concatenate([one.features for one in parts]),
    )


def _pooled(lists: Sequence[tuple[Array, Array]], width: int, *, alone: bool) -> list[Figure]:
    """Return the effect of each of ``width`` columns on the score, pooled over groups, with an interval over groups."""
    sums = np.zeros((len(lists), width * width + width))
    scored = 0
    for row, (scores, columns) in enumerate(lists):
        known = ~np.isnan(scores) & ~np.isnan(columns).any(axis=-1)
        if known.sum() < 2:
            continue
        residual = _less_levels(np.column_stack([scores[known], columns[known]]), known, alone=alone)
        y, x = residual[:, 0], residual[:, 1:]
        sums[row] = np.concatenate([(x.T @ x).ravel(), x.T @ y])
        scored += int(known.sum())
    identified = _identified(sums[:, : width * width].sum(axis=0).reshape(width, width))
    return estimates(sums, lambda one: solve_normal(one, width, present=identified), n=scored, reason=_ALIKE)


def _less_levels(values: Array, known: Flags, *, alone: bool) -> Array:
    """Return ``values`` (entries, columns) of the ``known`` entries less the levels of their answer and their list.

    With ``alone``, each answer was judged by itself, and lists have no level.
    """
    which, member = np.nonzero(known)
    dummies = [(member[:, None] == np.unique(member)).astype(float)]
    if not alone:
        dummies.append((which[:, None] == np.unique(which)[1:]).astype(float))
    design = np.concatenate(dummies, axis=1)
    solved = np.linalg.lstsq(design, values, rcond=None)[0]
    residual = values - design @ solved
    return np.where(np.abs(residual) > _EDGE, residual, 0.0)


def _identified(square: Array) -> Flags:
    """Return which columns the pooled lists tell apart from the others."""
    scale = np.sqrt(np.maximum(np.diag(square), _EDGE))
    scaled = square / scale[:, None] / scale[None, :]
    projection = np.linalg.pinv(scaled, rcond=1e-9, hermitian=True) @ scaled
    return np.asarray((np.diag(square) > _EDGE) & (np.abs(np.diag(projection) - 1) < 1e-6))


def _changes(lists: Iterable[_Lists], names: Sequence[str]) -> dict[str, float]:
    """Return by how much each built-in rewrite raises its own feature, as a mean over rewritten answers."""
    found: dict[str, list[float]] = {}
    for one in lists:
        plain = ~one.marks.any(axis=(1, 2))
        if not plain.any():
            continue
        before = one.features[np.flatnonzero(plain)[0]]
        for number, name in enumerate(names):
            if name not in OWN_FEATURE:
                continue
            feature = TEXT_FEATURES.index(OWN_FEATURE[name])
            which, member = np.nonzero(one.marks[:, :, number])
            found.setdefault(name, []).extend((one.features[which, member, feature] - before[member, feature]).tolist())
    return {name: float(np.nanmean(values)) for name, values in found.items() if not np.isnan(values).all()}
