"""Verdicts give the scores on file, by every formula and every rule for missing ones."""

from __future__ import annotations

import random
from typing import Any, get_args

import pytest

import golden
from calipers.errors import ConfigError
from calipers.rubric.formulas import NORMALISERS, graded, lowest_score
from calipers.rubric.grading import OnMissing
from calipers.types import Criterion, Rubric


def drawn(rng: random.Random) -> tuple[Rubric, dict[str, Any]]:
    """A rubric, and verdicts on most of its criteria."""
    criteria = []
    verdicts: dict[str, Any] = {}
    for number in range(rng.randint(1, 5)):
        points = rng.choice((5.0, 1.0, 2.5, -3.0, -1.0, 0.0) if number else (5.0, 1.0, -3.0))
        levels = {"poor": 0.0, "fair": 0.4, "good": 1.0} if points > 0 and rng.random() < 0.3 else {}
        criterion = Criterion(f"c{number}", "Is so.", points, veto=rng.random() < 0.2, levels=levels)
        criteria.append(criterion)
        verdicts[criterion.id] = (
            rng.choice((True, False, True, False, None)) if not levels else rng.choice((0.0, 0.4, 1.0, None))
        )
    rubric = Rubric(
        tuple(criteria), veto_floor=rng.choice((0.0, -0.5, 0.2)), all_negative=rng.choice(("refuse", "from_one"))
    )
    return rubric, verdicts


@pytest.mark.parametrize("rule", get_args(OnMissing))
@pytest.mark.parametrize("formula", NORMALISERS)
def test_verdicts_give_the_scores_they_gave(formula: Any, rule: Any) -> None:
    found: dict[str, Any] = {}
    for seed in range(40):
        rng = random.Random(seed)
        rubric, verdicts = drawn(rng)
        key = f"{formula} {rule} {seed}"
        try:
            score = graded(
                rubric, verdicts, normaliser=formula, on_missing=rule, coverage=rng.choice((0.5, 0.8)), floor=0.1
            )
            numbers = [
                None if one is None else round(one, 6)
                for one in (score.value, score.coverage, lowest_score(rubric, formula))
            ]
            found[key] = [*numbers, *score.open, "vetoed", *score.vetoed, score.filled]
        except ConfigError as error:
            found[key] = type(error).__name__
    golden.check("formulas", found)
