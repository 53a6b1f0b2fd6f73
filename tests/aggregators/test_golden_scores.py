"""Judgments give the scores, errors and learned statistics on file, to six digits."""

from __future__ import annotations

import random
from typing import Any

import pytest

import golden
from calipers.aggregators.bradley_terry import BradleyTerry
from calipers.aggregators.panel import Fallback, Panel
from calipers.aggregators.priors import Priors
from calipers.aggregators.two_way import two_way
from calipers.types import Comparison, Judgment, Rating, Scores

SEEDS = range(40)


def ratings(rng: random.Random, n: int, *, slots: int = 1) -> list[Judgment]:
    """Answers that rate all or some of the candidates, coarse or fine, with a bias of position and of the answer."""
    found: list[Judgment] = []
    truth = [rng.random() for _ in range(n)]
    whole = rng.random() < 0.4
    for presentation in range(rng.randint(1, 5)):
        slot = rng.randrange(slots)
        shown = rng.sample(range(n), n if whole else rng.randint(1, n))
        level, digits = rng.gauss(0, 0.05), rng.choice((1, 2))
        for place, item in enumerate(shown):
            value = min(max(truth[item] + level - 0.05 * place + rng.gauss(0, 0.05), 0.0), 1.0)
            found.append(Rating(item, round(value, digits), presentation, place, slot))
    return found


def comparisons(rng: random.Random, n: int, *, slots: int = 1) -> list[Judgment]:
    """Verdicts on pairs, some in both orders, some contradicting, with an advantage for whoever is shown first."""
    found: list[Judgment] = []
    for number in range(rng.randint(1, 3 * n)):
        one, other = rng.sample(range(n), 2)
        margin = rng.choice((1.0, -1.0, 0.0, 0.5, -0.25, 1.0))
        slot = rng.randrange(slots)
        found.append(Comparison(one, other, margin, 2 * number, slot))
        if rng.random() < 0.5:
            found.append(Comparison(other, one, rng.choice((-margin, 1.0, 0.0)), 2 * number + 1, slot))
    return found


def written(scores: Scores) -> Any:
    return [[None if one is None else round(one, 5) for one in row] for row in (scores.values, scores.stderrs)]


def rounded(value: Any) -> Any:
    """Plain data with its numbers to five digits."""
    match value:
        case float():
            return round(value, 5)
        case dict():
            return {key: rounded(item) for key, item in value.items()}
        case list() | tuple():
            return [rounded(item) for item in value]
        case _:
            return value


@pytest.mark.parametrize("part", range(4))
def test_ratings_give_the_scores_they_gave(part: int) -> None:
    found = {}
    for seed in SEEDS[part::4]:
        rng = random.Random(seed)
        n = rng.randint(2, 6)
        found[f"two_way {seed}"] = written(two_way(ratings(rng, n), n))
    golden.check("scores", found)


@pytest.mark.parametrize("part", range(4))
def test_comparisons_give_the_strengths_they_gave(part: int) -> None:
    found = {}
    for seed in SEEDS[part::4]:
        rng = random.Random(seed)
        n = rng.randint(2, 6)
        model = BradleyTerry(rng.choice((2.0, 1.0)), rng.choice((0.0, 0.4)))
        found[f"bradley_terry {seed}"] = written(model(comparisons(rng, n), n))
    golden.check("scores", found)


@pytest.mark.parametrize("part", range(4))
def test_panels_give_the_scores_they_gave(part: int) -> None:
    found = {}
    for seed in SEEDS[part::4]:
        rng = random.Random(seed)
        n, weights = rng.randint(2, 6), tuple(rng.choice((0.0, 0.5, 1.0, 3.0)) for _ in range(3))
        quorum = rng.choice((1, 1, 2))
        judgments = ratings(rng, n, slots=3)
        found[f"panel {seed}"] = written(Panel(weights, quorum=quorum)(judgments, n))
        found[f"fallback {seed}"] = written(Fallback()(judgments, n))
        pairs = Panel(weights, BradleyTerry())
        found[f"panel of pairs {seed}"] = written(pairs(comparisons(rng, n, slots=3), n))
    golden.check("scores", found)


@pytest.mark.parametrize("seed", range(6))
def test_runs_teach_what_they_taught(seed: int) -> None:
    rng = random.Random(seed)
    judges = rng.choice((1, 2, 3))
    groups = []
    for _ in range(rng.choice((8, 30, 40))):
        n = rng.randint(2, 5)
        judgments = (ratings if seed % 2 else comparisons)(rng, n, slots=judges)
        groups.append({slot: [one for one in judgments if one.slot == slot] for slot in range(judges)})
    golden.check("scores", {f"priors {seed}": rounded(Priors.learn(groups, judges).to_dict())})
