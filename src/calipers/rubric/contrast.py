"""Policy-aware weights of criteria: what tells a group's candidates apart now counts more, within its category.

The idea is POW3R's (arXiv 2605.20164): human points say what matters, but a criterion that all candidates meet, or
none, teaches nothing now. Each category keeps its total of human points. The formula is calipers' own: POW3R moves
weights by the verdicts of earlier epochs, this by those of the group itself, shrunk by their number and their noise.
Pure functions. Not responsible for collecting verdicts (``aggregators.criteria``) or for scores (``rubric.formulas``).
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Final

from calipers.rubric.formulas import criteria_with_points
from calipers.rubric.grading import Grading
from calipers.types import Criterion, Rubric

_PRIOR_CANDIDATES: Final = 4
"""How many candidates the prior is worth, by which all criteria of a category tell candidates apart equally well."""
_PRIOR_VARIANCE: Final = 0.25
"""The variance in that prior: the largest that verdicts can have, so that the prior is no weaker than the data."""
_KNOWN_SHARE: Final = 0.75
"""The share of candidates that need a verdict before a criterion's points change (as in POW3R)."""
_HALVINGS: Final = 80


def contrast_rubric(rubric: Rubric, verdicts: Sequence[Mapping[str, Sequence[float]]], grading: Grading) -> Rubric:
    """Return the rubric with points that follow how much the candidates' verdicts vary.

    ``verdicts`` has an entry for each candidate graded by this rubric: for each criterion, the share met (0-1) in each
    grading that decided it. Unknown verdicts are absent, and count as nothing. Positive and negative points of each
    category keep their sums, and each criterion's points stay within a factor ``weights_cap`` of the human ones.
    """
    variances = {one.id: _variance([row.get(one.id, ()) for row in verdicts], one, grading) for one in rubric.criteria}
    blocks: dict[tuple[str, bool], list[Criterion]] = {}
    for criterion in criteria_with_points(rubric):
        if variances[criterion.id] is not None:
            blocks.setdefault((_category(criterion, grading), criterion.points > 0), []).append(criterion)
    points: dict[str, float] = {}
    for block in blocks.values():
        points |= _shifted_points(block, [variances[one.id] or 0.0 for one in block], grading.weights_cap)
    criteria = (replace(one, points=points.get(one.id, one.points)) for one in rubric.criteria)
    return replace(rubric, criteria=tuple(criteria))


def why_no_contrast(rubric: Rubric, grading: Grading) -> str | None:
    """Return why the points of this rubric cannot follow verdicts, and the remedy; None if they can."""
    counted = criteria_with_points(rubric)
    key = grading.weights_category
    for criterion in counted:
        found = [tag for tag in criterion.tags if tag.startswith(f"{key}:")]
        if key and len(found) != 1:
            return (
                f"criterion {criterion.id!r} has {len(found)} tags '{key}:...', and weights_category={key!r} needs one "
                "of each criterion: tag it, or leave weights_category out to make the rubric one category"
            )
    sizes = [abs(one.points) for one in counted]
    least, cap = min(sizes), grading.weights_cap
    if least / cap < sys.float_info.min or not math.isfinite(math.fsum(sizes) / least * cap * cap):
        return "the points of the criteria differ too much in size for weights='contrast': leave it out"
    return None


def _category(criterion: Criterion, grading: Grading) -> str:
    """Return the tag that names the criterion's category; the same for all criteria if no category is asked for."""
    prefix = f"{grading.weights_category}:"
    return next((tag for tag in criterion.tags if grading.weights_category and tag.startswith(prefix)), "")


def _variance(verdicts: Sequence[Sequence[float]], criterion: Criterion, grading: Grading) -> float | None:
    """Return how much a criterion's true verdicts vary among candidates, shrunk towards the prior; None if unknown.

    A verdict that is wrong with probability e has the variance (1 - 2e)² v + e(1 - e) if the true one has v. Rules make
    no errors.
    """
    known = [fmean(row) for row in verdicts if row]
    if len(known) < max(2, _KNOWN_SHARE * len(verdicts)):
        return None
    error = grading.weights_noise if criterion.rule is None else 0.0
    mean = fmean(known)
    observed = math.fsum((one - mean) ** 2 for one in known) / (len(known) - 1)
    noise = fmean(error * (1 - error) / len(row) for row in verdicts if row)
    variance = max(0.0, observed - noise) / (1 - 2 * error) ** 2
    freedom = len(verdicts) - 1  # the same for all criteria: a missing verdict must not bring one nearer to the prior
    return (freedom * variance + _PRIOR_CANDIDATES * _PRIOR_VARIANCE) / (freedom + _PRIOR_CANDIDATES)


def _shifted_points(block: Sequence[Criterion], variances: Sequence[float], cap: float) -> dict[str, float]:
    """Return points in proportion to human points and variances, with the same sum, within ``cap`` of the human ones.

    The common scale is found by halving an interval, because the sum grows with it.
    """
    if min(variances) == max(variances):
        return {}
    largest = max(abs(one.points) for one in block)
    shares = [abs(one.points) / largest for one in block]
    total = math.fsum(shares)
    low, high = 0.0, cap / min(variances)
    for _ in range(_HALVINGS):
        scale = (low + high) / 2
        moved = math.fsum(share * _within(scale * one, cap) for share, one in zip(shares, variances, strict=True))
        low, high = (scale, high) if moved < total else (low, scale)
    return {one.id: one.points * _within(high * found, cap) for one, found in zip(block, variances, strict=True)}


def _within(factor: float, cap: float) -> float:
    return min(max(factor, 1 / cap), cap)
