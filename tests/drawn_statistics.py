"""Random inputs of the pure numeric code, drawn from a seed, and what comes of them as plain data.

Values are coarse, so that ties, equal means, empty sets and numbers right at a threshold occur often.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any, get_args

import numpy as np

from calipers.aggregators.bias_correction import BiasCorrected, shrink_into_bounds
from calipers.aggregators.bradley_terry import BradleyTerry, largest_linked_set
from calipers.aggregators.criteria import CriteriaScores
from calipers.aggregators.noise import Noise
from calipers.aggregators.pair_bias import PairBias
from calipers.aggregators.panel import Fallback, Panel
from calipers.aggregators.panel_weights import learn_weights
from calipers.aggregators.position_bias import PositionBias
from calipers.aggregators.priors import Priors
from calipers.aggregators.resolution import StoppingRule, usual_spread
from calipers.aggregators.two_way import TwoWay, fit_two_way
from calipers.rewards.identity import Identity
from calipers.rewards.rank import Rank
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
        levels = {"poor": 0.0, "fair": 0.4, "good": 1.0} if points > 0 and rng.random() < 0.3 else {}
        criteria.append(Criterion(f"c{number}", "Is so.", points, veto=rng.random() < 0.25, levels=levels))
    floor, negative = rng.choice((0.0, -0.5, 0.2)), rng.random() < 0.3
    return Rubric(tuple(criteria), veto_floor=floor, all_negative="from_one" if negative else "refuse")


def verdicts(rng: random.Random, of: Rubric) -> dict[str, Any]:
    return {
        one.id: rng.choice((0.0, 0.4, 1.0, None) if one.levels else (True, False, True, False, None))
        for one in of.criteria
        if rng.random() < 0.9
    }


def grading(rng: random.Random) -> Grading:
    mode: Any = rng.choice(("all", "all", "all", "relative", "holistic"))
    formula: Any = None if mode == "holistic" else rng.choice((None, *NORMALISERS))
    return Grading(
        mode=mode,
        normaliser=formula,
        on_missing=rng.choice(get_args(OnMissing)),
        coverage=rng.choice((0.5, 0.8, 1.0)),
        reward=rng.choice(("stretched", "stretched", "stretched", "score")),
    )


def view(rng: random.Random, n: int, rubrics: tuple[Rubric | None, ...] = ()) -> RenderedGroup:
    """Candidates whose own text has various lengths, behind one shared message."""
    shared = {"role": "assistant", "content": "shared " * 3}
    candidates = []
    for item in range(n):
        text = "x" * rng.choice((1, 5, 5, 20))
        parts = [{"type": "text", "text": text}, {"type": "image_url"}, "odd"]
        content: Any = rng.choice((text, text, parts, tuple(parts), None, 7))
        own = ({"role": "user", "content": "y" * 9}, {"role": "assistant", "content": content})
        candidates.append(Candidate((item,), (shared, *own), ("x",)))
    return RenderedGroup(
        group_id="g", ids=tuple(f"t{item}" for item in range(n)), digest="0" * 32, marker="@q7x", head=(),
        candidates=tuple(candidates), prefix_length=1, rubrics=rubrics,
    )  # fmt: skip


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


def _linked(rng: random.Random) -> Any:
    n = rng.randint(1, 8)
    return largest_linked_set([(rng.randrange(n), rng.randrange(n)) for _ in range(rng.randint(0, n))], n)


def _panel(rng: random.Random) -> Any:
    n, slots = rng.randint(1, 5), rng.choice((1, 2, 3, 3))
    weights = tuple(rng.choice((0.0, 0.5, 1.0, 3.0, -1.0)) for _ in range(rng.choice((slots, slots, 2))))
    if rng.random() < 0.6:
        quorum: dict[str, Any] = rng.choice(({}, {}, {"quorum": 2}, {"quorum": 3}))
        return Panel(weights, **quorum)(judgments(rng, n, slots), n)
    return Panel(weights, BradleyTerry(), rng.choice((1, 2)))(comparisons(rng, n, slots=slots), n)


def _fallback(rng: random.Random) -> Any:
    n = rng.randint(1, 5)
    return Fallback()(ratings(rng, n, slots=3), n)


def _criteria(rng: random.Random) -> Any:
    n, judges = rng.randint(1, 4), rng.choice((1, 1, 2, 3))
    one = rubric(rng)
    rubrics = tuple(rng.choice((one, one, one, rubric(rng), None)) for _ in range(rng.choice((n, n, n - 1))))
    checked = tuple(
        {c.id: Verdict(rng.choice((True, False, None))) for c in (of.criteria if of else ()) if rng.random() < 0.3}
        for of in rubrics
    )
    found: list[Judgment] = []
    for presentation in range(rng.choice((0, 1, 1, 2, 4))):
        slot = rng.randrange(judges)
        for item, of in enumerate(rubrics):
            if of is None or rng.random() < 0.15:
                continue
            if rng.random() < 0.1:
                found.append(Rating(item, rng.choice(GRID), presentation, slot=slot))
                continue
            for name, met in verdicts(rng, of).items():
                share = met if isinstance(met, float) else None
                found.append(Verdict(met if share is None else share > 0, "", item, name, presentation, slot, share))
    options: dict[str, Any] = {
        "grading": grading(rng),
        "panel": rng.choice(("all", "cycle", "fallback")),
        "quorum": 2,
        "weights": tuple(rng.choice((0.0, 1.0, 2.0)) for _ in range(judges)),
    }
    given = {name: value for name, value in options.items() if rng.random() < 0.4}
    if judges > 1 or rng.random() < 0.2:
        given["judges"] = judges
    shown = replace(view(rng, n, rubrics), rule_verdicts=rng.choice(((), checked)))
    return CriteriaScores(**given).of(shown)(found, n)


def _learned_noise(rng: random.Random) -> Any:
    count = rng.choice((7, 8, 9, 12))
    freedom = [rng.choice((0, 1, 2, 4)) if rng.random() < 0.3 else 2 for _ in range(count)]
    level = rng.choice((0.0, 0.01, 0.1))
    squares = [level * one * rng.choice((0.2, 1, 1, 5)) for one in freedom]
    noise = Noise.learn(squares, freedom)
    return [noise, noise and [noise.variance_of(0.1, one) for one in (0, 1, 3)]]


def _pair_bias(rng: random.Random) -> Any:
    kinds: tuple[Any, ...] = ("first", "second", "tie")
    odds = rng.choice(((3, 1, 1), (1, 3, 1), (1, 1, 0), (5, 1, 0), (1, 0, 0)))
    pairs = [(rng.choices(kinds, odds)[0], rng.choices(kinds, odds)[0]) for _ in range(rng.choice((9, 10, 11, 20, 40)))]
    bias: Any = PairBias.learn(pairs)
    if bias is None:
        return None
    doubt, calls = rng.choice((0.15, 0.15, 0.4)), rng.choice((1.75, 1.75, 1.2, 1.0, 2.0))
    shares = [bias.swap_share(kind) for kind in kinds]
    return [
        bias, [bias.margin(kind) for kind in kinds], shares,
        [bias.swap_share(kind, doubt=doubt, calls=calls) for kind in kinds],
    ]  # fmt: skip


def _swap_shares(rng: random.Random) -> Any:
    bias = PairBias(20, rng.choice((0.0, 0.2, 0.5, 0.75, 1.0)), *(rng.choice((0.0, 0.15, 0.3, 0.4)) for _ in range(2)))
    return [bias.swap_share(kind, calls=rng.choice((1.1, 1.75, 2.0))) for kind in ("first", "second", "tie")]


def _position_bias(rng: random.Random) -> Any:
    n, slope, first = rng.choice((2, 3, 4, 5)), rng.choice((0.0, 0.0, -0.2, 0.1)), rng.choice((0.0, 0.2))
    groups = []
    for _ in range(rng.choice((19, 20, 21, 25))):
        truth = [rng.random() for _ in range(n)]
        found = []
        for presentation in range(2 if rng.random() < 0.97 else 1):
            for place, item in enumerate(rng.sample(range(n), n if rng.random() < 0.9 else n - 1)):
                value = truth[item] + slope * place / (n - 1) + first * (place == 0) + rng.gauss(0, 0.02)
                found.append(Rating(item, round(value, 3), presentation, place))
        groups.append(found)
    bias = PositionBias.learn(groups)
    rest = None if bias is None else [bias.curve(one) for one in (1, 2, 5)]
    return [bias, rest, None if bias is None else [one.value for one in bias.without_bias(groups[0])]]


def _corrected(rng: random.Random) -> Any:
    n, slots = rng.randint(1, 5), 2
    positions = {slot: PositionBias(rng.choice((0.2, -0.3)), 0.1, 30) for slot in range(slots) if rng.random() < 0.7}
    pairs = {slot: PairBias(20, 0.6, 0.3, 0.1) for slot in range(slots) if rng.random() < 0.7}
    bounds = rng.choice((None, (0.0, 1.0)))
    if rng.random() < 0.6:
        return BiasCorrected(TwoWay(), positions, pairs, bounds)(ratings(rng, n, slots=slots), n)
    return BiasCorrected(BradleyTerry(), positions, pairs)(comparisons(rng, n, slots=slots), n)


def _shrunk(rng: random.Random) -> Any:
    found = scores(rng)
    shift = rng.choice((0.0, 0.3, -0.4, 2.0))
    moved = tuple(None if one is None else one + shift for one in found.values)
    return shrink_into_bounds(replace(found, values=moved), *rng.choice(((0.0, 1.0), (0.0, 0.8), (0.2, 1.0))))


def _stopping(rng: random.Random) -> Any:
    options: dict[str, Any] = rng.choice(({}, {}, {"tolerance": 0.05}, {"budget": 3}))
    rule = StoppingRule(rng.choice((0.0, 0.01, 0.05)), **options)
    found, calls = scores(rng, rng.randint(1, 4)), rng.choice((1, 2, 3, 4, 7, 8))
    gain = rule.gain(rng.choice((0.0, 0.01, 0.04)), rng.choice((0.0, 0.01, 0.02)), freedom=2, calls=calls)
    return [rule.should_stop(found, calls=calls), gain, usual_spread(0.3, gain), usual_spread(gain, 0.3)]


def _priors(rng: random.Random) -> Any:
    judges = rng.choice((1, 2, 3))
    make = rng.choice((ratings, comparisons))
    groups = []
    for _ in range(rng.choice((19, 20, 22, 30))):
        n = rng.randint(2, 4)
        found = [one for _ in range(rng.choice((1, 2, 2))) for one in make(rng, n, slots=judges)]
        groups.append({slot: [one for one in found if one.slot == slot] for slot in range(judges)})
    learned = Priors.learn(groups, judges).to_dict()
    assert Priors.of(learned).to_dict() == learned
    return [learned, Priors(()).to_dict()]


def _weights(rng: random.Random) -> Any:
    judges, groups, members = rng.choice((1, 2, 3, 3)), rng.choice((1, 2, 5, 12)), rng.randint(2, 4)
    truth = np.array([[rng.choice(GRID) for _ in range(members)] for _ in range(groups)])
    arrays = []
    for _ in range(judges):
        calls, noise = rng.choice((1, 2, 2, 3)), rng.choice((0.0, 0.1, 0.5))
        own = np.array(
            [
                [[one + rng.gauss(0, noise) if rng.random() < 0.9 else np.nan for one in row] for _ in range(calls)]
                for row in truth
            ]
        )
        arrays.append(-own if rng.random() < 0.1 else own)
    return learn_weights(arrays)


def _graded(rng: random.Random) -> Any:
    of, by = rubric(rng), grading(rng)
    said = verdicts(rng, of)
    formula: Any = rng.choice([*NORMALISERS])
    found = graded(of, said, normaliser=formula, on_missing=by.on_missing, coverage=rng.choice((0.5, 0.8, 0.625)))
    ruled = {name: Verdict(met) for name, met in said.items() if not isinstance(met, float) and rng.random() < 0.6}
    open_, score = criteria_for_judge(of, ruled, by), score_from_rules(of, ruled, by)
    return [
        found.value, found.reason is None, found.coverage, found.open, found.vetoed, found.filled,
        lowest_score(of, formula), [one.id for one in open_], score,
    ]  # fmt: skip


def _rewards(rng: random.Random) -> Any:
    found = scores(rng)
    n = len(found.values)
    one = rubric(rng)
    shown = view(rng, n, tuple(rng.choice((one, None)) for _ in range(n)))
    bounds: tuple[Any, ...] = rng.choice(((), ((-1.0, 1.0),), ((0.0, 5.0),)))
    by: dict[str, Any] = {"grading": grading(rng)} if rng.random() < 0.8 else {}
    made: list[Any] = [
        Identity(*bounds), Rank(*bounds), WinRate(*bounds), RubricRange(*bounds, **by),
    ]  # fmt: skip
    return [transform(found, shown) for transform in made]


DRAWS: dict[str, Draw] = {
    "two_way": _two_way,
    "bradley_terry": _bradley_terry,
    "linked": _linked,
    "panel": _panel,
    "fallback": _fallback,
    "criteria": _criteria,
    "noise": _learned_noise,
    "pair_bias": _pair_bias,
    "swap_shares": _swap_shares,
    "position_bias": _position_bias,
    "corrected": _corrected,
    "shrunk": _shrunk,
    "stopping": _stopping,
    "priors": _priors,
    "weights": _weights,
    "graded": _graded,
    "rewards": _rewards,
}
