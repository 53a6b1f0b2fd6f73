"""Random inputs of the pure numeric code, drawn from a seed, and what comes of them as plain data.

Values are coarse, so that ties, equal means, empty sets and numbers right at a threshold occur often.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any, get_args

import numpy as np

from calipers.aggregators.bradley_terry import BradleyTerry
from calipers.aggregators.criteria import CriteriaScores
from calipers.aggregators.noise import Noise
from calipers.aggregators.pair_bias import BiasCorrected, PairBias
from calipers.aggregators.panel import Fallback, Panel
from calipers.aggregators.panel_weights import gold_weights, learn_weights, repeatability
from calipers.aggregators.position_bias import PositionBias
from calipers.aggregators.priors import Priors
from calipers.aggregators.resolution import StoppingRule
from calipers.aggregators.two_way import TwoWay, fit_two_way
from calipers.rewards.identity import Identity
from calipers.rewards.rank import Rank
from calipers.rewards.reliability import reliability_of
from calipers.rewards.reliable import Shrunk, Weighted
from calipers.rewards.rubric_range import RubricRange
from calipers.rewards.win_rate import WinRate
from calipers.rubric.formulas import NORMALISERS, criteria_for_judge, graded, lowest_score, score_from_rules
from calipers.rubric.grading import Grading, OnMissing
from calipers.types import Candidate, Comparison, Criterion, Judgment, Rating, RenderedGroup, Rubric, Scores, Verdict

Draw = Callable[[random.Random], Any]
GRID = (0.0, 0.1, 0.25, 0.3, 0.5, 0.5, 0.75, 0.9, 1.0)


def drawn(name: str, seed: int) -> Any:
    """What ``DRAWS[name]`` gives for a seed, as JSON holds it; an error by its name."""
    rng = random.Random(f"{name} {seed}")
    try:
        return plain(DRAWS[name](rng))
    except Exception as error:  # noqa: BLE001 - which error is part of what is on file
        return type(error).__name__


def plain(value: Any) -> Any:
    """Numbers to 7 digits at most, and 8 decimals; everything else as lists and objects."""
    match value:
        case bool() | int() | str() | None:
            return value
        case float() | np.floating():
            return float(f"{round(float(value), 8):.7g}") + 0.0
        case dict():
            return {str(key): plain(item) for key, item in value.items()}
        case Scores():
            return [plain(value.values), plain(value.stderrs)]
        case list() | tuple() | np.ndarray():
            return [plain(item) for item in value]
    return [plain(getattr(value, name)) for name in value.__slots__]


def ratings(rng: random.Random, n: int, *, slots: int = 1, spreads: bool = False) -> list[Judgment]:
    """Answers that rate all or some of the candidates, coarse or fine."""
    found: list[Judgment] = []
    whole, fine = rng.random() < 0.4, rng.random() < 0.5
    bias = rng.choice((0.0, 0.05, -0.1))
    truth = [rng.choice(GRID) for _ in range(n)]
    for presentation in range(rng.choice((0, 1, 1, 2, 2, 3, 4))):
        slot = rng.randrange(slots)
        shown = rng.sample(range(n), n if whole else rng.randint(1, n))
        level = rng.choice((0.0, 0.1, -0.1))
        for place, item in enumerate(shown):
            noise = rng.gauss(0, 0.1) if fine else rng.choice((0, 0, 0.1, -0.1))
            value = round(truth[item] + level + bias * place + noise, 3 if fine else 2)
            spread = rng.choice((None, 0.0, 0.1, 0.2)) if spreads else None
            found.append(Rating(item, value, presentation, place, slot, spread))
    return found


def comparisons(rng: random.Random, n: int, *, slots: int = 1) -> list[Judgment]:
    """Verdicts on pairs, some in both orders, some contradicting."""
    found: list[Judgment] = []
    for number in range(rng.choice((0, 1, n, 2 * n, 3 * n))):
        one, other = rng.sample(range(n), 2) if n > 1 and rng.random() < 0.95 else (0, 0)
        margin = rng.choice((1.0, -1.0, 0.0, 0.5, -0.25))
        slot = rng.randrange(slots)
        found.append(Comparison(one, other, margin, 2 * number, slot))
        if rng.random() < 0.5:
            found.append(Comparison(other, one, rng.choice((-margin, margin, 0.0)), 2 * number + 1, slot))
    return found


def judgments(rng: random.Random, n: int, slots: int) -> list[Judgment]:
    return (ratings if rng.random() < 0.6 else comparisons)(rng, n, slots=slots)


def scores(rng: random.Random, n: int | None = None) -> Scores:
    n = rng.randint(1, 6) if n is None else n
    step = rng.choice((0.1, 0.25, 0.01))
    values = [rng.choice((None, *GRID)) if rng.random() < 0.2 else round(rng.randrange(9) * step, 3) for _ in range(n)]
    known = rng.choice((GRID, (0.05, 0.1), (None, 0.1, 0.2), (0.0, 0.1)))
    return Scores(tuple(values), tuple(None if one is None else rng.choice(known) for one in values))


def rubric(rng: random.Random) -> Rubric:
    criteria = []
    for number in range(rng.randint(1, 5)):
        points = rng.choice((5.0, 1.0, 2.5, 2, -3.0, -1.0, 0.0) if number else (5.0, 1.0, -3.0))
        criteria.append(Criterion(f"c{number}", "Is so.", points, veto=rng.random() < 0.25))
    floor, negative = rng.choice((0.0, -0.5, 0.2)), rng.random() < 0.3
    return Rubric(tuple(criteria), veto_floor=floor, all_negative="from_one" if negative else "refuse")


def verdicts(rng: random.Random, of: Rubric) -> dict[str, Any]:
    return {one.id: rng.choice((True, False, True, False, None)) for one in of.criteria if rng.random() < 0.9}


def grading(rng: random.Random) -> Grading:
    return Grading(
        normaliser=rng.choice(list(NORMALISERS)),  # type: ignore[arg-type]  # names of formulas
        on_missing=rng.choice(get_args(OnMissing)),
        coverage=rng.choice((0.5, 0.8, 1.0)),
        reward=rng.choice(("stretched", "stretched", "stretched", "score")),
    )


def view(n: int, rubrics: tuple[Rubric | None, ...] = ()) -> RenderedGroup:
    candidates = tuple(Candidate((item,), (), ("x",)) for item in range(n))
    ids = tuple(f"t{item}" for item in range(n))
    return RenderedGroup("g", ids, "0" * 32, "@q7x", (), candidates, rubrics=rubrics)


def _noise(rng: random.Random, slots: int) -> dict[int, Noise]:
    return {
        slot: Noise(rng.choice((0.0, 0.01, 0.04)), rng.choice((0.5, 3.0, 1e6)))
        for slot in range(slots)
        if rng.random() < 0.7
    }


def _two_way(rng: random.Random) -> Any:
    n, slots = rng.randint(1, 6), rng.choice((1, 2))
    found = ratings(rng, n, slots=slots, spreads=rng.random() < 0.4)
    return [TwoWay(_noise(rng, slots))(found, n), fit_two_way(found, n)]


def _bradley_terry(rng: random.Random) -> Any:
    n = rng.randint(1, 6)
    return BradleyTerry(rng.choice((2.0, 1.0)), rng.choice((0.0, 0.4)))(comparisons(rng, n), n)


def _panel(rng: random.Random) -> Any:
    n, slots = rng.randint(1, 5), rng.choice((1, 2, 3, 3))
    weights = tuple(rng.choice((0.0, 0.5, 1.0, 3.0, -1.0)) for _ in range(rng.choice((slots, slots, 2))))
    given = judgments(rng, n, slots)
    return [Panel(weights, quorum=rng.choice((1, 1, 2, 3)))(given, n), Fallback()(given, n)]


def _criteria(rng: random.Random) -> Any:
    n, judges = rng.randint(1, 4), rng.choice((1, 1, 2, 3))
    one = rubric(rng)
    rubrics = tuple(rng.choice((one, one, one, rubric(rng), None)) for _ in range(n))
    checked = tuple(
        {c.id: Verdict(rng.choice((True, False, None))) for c in (of.criteria if of else ()) if rng.random() < 0.3}
        for of in rubrics
    )
    given: list[Judgment] = []
    for presentation in range(rng.choice((0, 1, 1, 2, 4))):
        slot = rng.randrange(judges)
        for item, of in enumerate(rubrics):
            if of is not None and rng.random() < 0.85:
                mets = verdicts(rng, of).items()
                given += [Verdict(met, "", item, name, presentation, slot) for name, met in mets]
    options: dict[str, Any] = {
        "grading": grading(rng),
        "panel": rng.choice(("all", "cycle", "fallback")),
        "quorum": 2,
    }
    chosen = {name: value for name, value in options.items() if rng.random() < 0.4}
    shown = replace(view(n, rubrics), rule_verdicts=rng.choice(((), checked)))
    return CriteriaScores(judges=judges, **chosen).of(shown)(given, n)


def _pair_bias(rng: random.Random) -> Any:
    kinds: tuple[Any, ...] = ("first", "second", "tie")
    odds = rng.choice(((3, 1, 1), (1, 3, 1), (1, 1, 0), (5, 1, 0), (1, 0, 0)))
    pairs = [(rng.choices(kinds, odds)[0], rng.choices(kinds, odds)[0]) for _ in range(rng.choice((9, 10, 11, 20, 40)))]
    bias: Any = PairBias.learn(pairs)
    doubt, calls = rng.choice((0.15, 0.15, 0.4)), rng.choice((1.75, 1.75, 1.2, 1.0, 2.0))
    return bias and [
        bias, *((bias.margin(kind), bias.swap_share(kind, doubt=doubt, calls=calls)) for kind in kinds)
    ]  # fmt: skip


def _corrected(rng: random.Random) -> Any:
    n, slots = rng.randint(1, 5), 2
    positions = {slot: PositionBias(rng.choice((0.2, -0.3)), 0.1, 30) for slot in range(slots) if rng.random() < 0.7}
    pairs = {slot: PairBias(20, 0.6, 0.3, 0.1) for slot in range(slots) if rng.random() < 0.7}
    bounds = rng.choice((None, (0.0, 1.0)))
    if rng.random() < 0.6:
        return BiasCorrected(TwoWay(), positions, pairs, bounds)(ratings(rng, n, slots=slots), n)
    return BiasCorrected(BradleyTerry(), positions, pairs)(comparisons(rng, n, slots=slots), n)


def _stopping(rng: random.Random) -> Any:
    rule = StoppingRule(rng.choice((0.0, 0.01, 0.05)), rng.choice((0.015, 0.05)), rng.choice((3, 8)))
    return rule.should_stop(scores(rng, rng.randint(1, 4)), calls=rng.choice((1, 2, 3, 4, 7, 8)))


def _priors(rng: random.Random) -> Any:
    judges = rng.choice((1, 2, 3))
    make = rng.choice((ratings, comparisons))
    groups = []
    for _ in range(rng.choice((19, 20, 22, 30))):
        n = rng.randint(2, 4)
        given = [one for _ in range(rng.choice((1, 2, 2))) for one in make(rng, n, slots=judges)]
        groups.append({slot: [one for one in given if one.slot == slot] for slot in range(judges)})
    return Priors.learn(groups, judges).to_dict()


def _weights(rng: random.Random) -> Any:
    """Judges of different noise and leaning, of which some miss calls; their weights, without gold and with it."""
    judges, groups, members = rng.choice((2, 3, 4)), rng.choice((1, 4, 12)), rng.choice((2, 4))
    drawn = np.random.default_rng(rng.randrange(10**6))
    truth, common = drawn.normal(size=(2, groups, 1, members))
    signs = [rng.choice((1.0, 1.0, 1.0, -0.7)) for _ in range(judges)]
    counts = [rng.choice((1, 2, 3, 5)) if rng.random() < 0.4 else 2 for _ in range(judges)]
    calls = [
        (
            sign * truth
            + rng.choice((0.0, 0.0, 0.8)) * common
            + drawn.normal(scale=noise, size=(groups, count, members))
        ).round(2)
        for sign, count, noise in zip(signs, counts, rng.choices((0.0, 0.3, 1.0, 2.0), k=judges), strict=True)
    ]
    for one in calls:
        one[drawn.random(one.shape) < rng.choice((0.0, 0.0, 0.2))] = np.nan
    said = np.array([np.nan_to_num(one[:, 0]) for one in calls])
    of_gold = np.einsum("igm,jgm->ij", said, said), np.einsum("jgm,gm->j", said, truth[:, 0])
    return [
        learn_weights(calls), [repeatability(one) for one in calls],
        gold_weights(*of_gold, float((truth**2).sum()), rng.choice((groups, 40))),
    ]  # fmt: skip


def _learned_noise(rng: random.Random) -> Any:
    count = rng.choice((7, 8, 8, 9, 16))
    freedom = [rng.choice((0, 1, 4)) if rng.random() < 0.3 and count > 8 else 2 for _ in range(count)]
    noise: Any = Noise.learn([rng.choice((0.0, 0.1, 0.2, 2.0)) for _ in freedom], freedom)
    return noise and [noise, noise.variance_of(0.5, 3)]


def _reliability(rng: random.Random) -> Any:
    n, scale = rng.choice((1, 2, 3, 5)), rng.choice((1.0, 1.0, 1e-200, 1e200))
    values = [rng.choice(GRID) * scale if rng.random() < 0.95 else None for _ in range(n)]
    errors = [None if one is None else rng.choice((0.0, 0.05, 0.1, 0.1, 0.2)) * scale for one in values]
    basis: Any = rng.choice((None, "repeats", "repeats", "learned", "learned", "assumed"))
    found = Scores(tuple(values), tuple(errors), basis, rng.choice((None, 1, 2.5, 4, 12, 1e6)))
    known, shown = reliability_of(found), view(n)
    made = [Shrunk()(found, shown), Weighted()(found, shown)] if scale == 1 else []
    return [known.value, known.interval, known.basis, known.freedom, made]


def _graded(rng: random.Random) -> Any:
    of, by = rubric(rng), grading(rng)
    said = verdicts(rng, of)
    found = graded(of, said, replace(by, coverage=rng.choice((0.5, 0.8, 0.625))))
    ruled = {name: Verdict(met) for name, met in said.items() if rng.random() < 0.6}
    open_, score = criteria_for_judge(of, ruled, by), score_from_rules(of, ruled, by)
    return [found, lowest_score(of, by.normaliser), [one.id for one in open_], score]


def _rewards(rng: random.Random) -> Any:
    given, bounds = scores(rng), rng.choice(((0.0, 1.0), (-1.0, 1.0), (0.0, 5.0)))
    one, n = rubric(rng), len(given.values)
    shown = view(n, tuple(rng.choice((one, None)) for _ in range(n)))
    made: list[Any] = [Identity(bounds), Rank(bounds), WinRate(bounds), RubricRange(bounds, grading(rng))]
    return [transform(given, shown) for transform in made]


DRAWS: dict[str, Draw] = {
    "two_way": _two_way,
    "bradley_terry": _bradley_terry,
    "panel": _panel,
    "criteria": _criteria,
    "pair_bias": _pair_bias,
    "corrected": _corrected,
    "stopping": _stopping,
    "priors": _priors,
    "weights": _weights,
    "noise": _learned_noise,
    "reliability": _reliability,
    "graded": _graded,
    "rewards": _rewards,
}
