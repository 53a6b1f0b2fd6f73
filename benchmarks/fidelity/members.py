"""Asking on about single members instead of whole groups: what it brings at as many transcripts.

    python -m benchmarks.fidelity.members [--groups 400]

Two ways to go on with an unsettled group, both by the rule of ``aggregators.sequential``: whole (what ``resolve``
does), and only those members for which one more answer is worth its price, each by its own noise. A lone score needs
nothing beside it: recorded judges (rb2_k8, learned on one half of the groups and reported on the other). A member of a
list is shown next to two anchors, which cost as much and whose scores put the part on the level of the rest: simulated
judges, whose noise differs between members by a factor of exp(N(0, h)); once with noise estimated from the answers,
once told.

Figures are fidelity less that of whole groups at equal transcripts, with 95 % intervals over groups.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from benchmarks.environment import recorded_data
from benchmarks.fidelity import data
from calipers.aggregators.noise import Noise
from calipers.aggregators.resolution import usual_spread
from calipers.calibration import measures
from calipers.calibration.arrays import Array, Flags

TOLERANCES = (0.004, 0.006, 0.008, 0.011, 0.015, 0.02, 0.03, 0.05)
BELIEF = 0.3
"""As in ``aggregators.sequential``."""
MOST = 8


@dataclass(frozen=True, slots=True)
class Told:
    """What the rule knows: the judge's noise for a group and for a member, and its usual spread."""

    group: Noise
    member: Noise
    spread: float


def learn(calls: Array) -> Told:
    """From unlabelled calls (groups, calls, members), none missing."""
    count = calls.shape[1]
    squares = ((calls - calls.mean(axis=1, keepdims=True)) ** 2).sum(axis=1)
    group = Noise.learn(squares.sum(axis=1).tolist(), [(count - 1) * calls.shape[2]] * len(calls))
    member = Noise.learn(squares.ravel().tolist(), [count - 1] * squares.size)
    assert group is not None  # noqa: S101 - hundreds of groups
    assert member is not None  # noqa: S101 - likewise
    return Told(group, member, usual_spread(float(calls.var(axis=2, ddof=1).mean()), group.variance))


def gains(scores: Array, error: Array, drop: Array, spread: float) -> Array:
    """What each member's next answer adds to its group's reliability: ``drop`` is what it takes off its ``error``."""
    members = scores.shape[1]
    noise = error.mean(axis=1)
    true = (BELIEF * spread + (members - 1) * np.maximum(scores.var(axis=1, ddof=1) - noise, 0)) / (
        BELIEF + members - 1
    )
    after = np.maximum((true + noise)[:, None] - drop / members, 1e-12)
    return np.asarray(np.sqrt(true[:, None] / after) - np.sqrt(true / np.maximum(true + noise, 1e-12))[:, None])


def level(noise: Noise, squares: Array, freedom: Array) -> Array:
    """The variance of one answer, each row's residuals drawn towards the judge's."""
    return np.asarray((noise.strength * noise.variance + squares) / (noise.strength + freedom))


# --- lone scores of recorded judges -----------------------------------------------------------------------------------


def lone(calls: Array, told: Told, tolerance: float, *, single: bool) -> tuple[Array, Array]:
    """Transcripts a member and final scores, (starts, groups) and (starts, groups, members), from every call as the
    first.
    """
    used, final = [], []
    for start in range(calls.shape[1]):
        rolled = np.roll(calls, -start, axis=1)
        count = np.ones((len(calls), calls.shape[2]), dtype=np.int64)
        while True:
            taken = np.arange(calls.shape[1])[None, :, None] < count[:, None, :]
            scores = np.where(taken, rolled, 0.0).sum(axis=1) / count
            squares = np.where(taken, (rolled - scores[:, None, :]) ** 2, 0.0).sum(axis=1)
            if single:
                variance = level(told.member, squares, count - 1)
            else:
                pooled = level(told.group, squares.sum(axis=1), (count - 1).sum(axis=1))
                variance = np.broadcast_to(pooled[:, None], squares.shape)
            gain = gains(scores, variance / count, variance / (count * (count + 1)), told.spread)
            worth = gain * calls.shape[2] >= tolerance if single else gain.sum(axis=1, keepdims=True) >= tolerance
            asked = worth & (count < calls.shape[1])
            if not asked.any():
                break
            count = count + asked
        used.append(count.mean(axis=1))
        final.append(scores)
    return np.array(used), np.array(final)


def recorded() -> None:
    """Print the table of recorded judges."""
    frame, series = data.load("rb2_k8")
    print("## Lone scores, recorded judges (rb2_k8, reporting half): single members less whole groups, at equal calls")
    print("| judge, prompt | calls a member | whole | members | difference |\n|---|---|---|---|---|")
    for one in series:
        whole = ~np.isnan(one.calls).any(axis=(1, 2))
        if one.key.temperature:
            gold = frame.gold[list(one.rows)][whole]
            calls, developing = one.calls[whole], data.half(frame, one.rows)[whole]
            told = learn(calls[developing])
            name = f"{one.key.judge}, {one.key.prompt_variant}, t={one.key.temperature:g}"
            _row(name, lambda t, s, c=calls[~developing], k=told: lone(c, k, t, single=s), gold[~developing])


def _row(name: str, ask: Callable[[float, bool], tuple[Array, Array]], gold: Array) -> None:
    """One line: the default tolerance by members, against whole groups at the same price between their tolerances."""
    used, final = ask(0.015, True)
    found = _fidelity(final, gold)
    points = sorted(
        ((float(spent.mean()), _fidelity(scores, gold)) for spent, scores in (ask(one, False) for one in TOLERANCES)),
        key=lambda point: point[0],
    )
    price = float(used.mean())
    prices = [one for one, _ in points]
    above = min(max(int(np.searchsorted(prices, price)), 1), len(points) - 1)
    (low, one), (high, other) = points[above - 1], points[above]
    part = (price - low) / (high - low)
    rival = (1 - part) * one + part * other
    low_high = data.figure(measures.bootstrap_interval(found - rival))
    print(
        f"| {name} | {price:.2f} | {rival.mean():.4f} | {found.mean():.4f} | {(found - rival).mean():+.4f} {low_high} "
        "|",
        flush=True,
    )


def _fidelity(final: Array, gold: Array) -> Array:
    return np.asarray(np.mean([measures.fidelity(scores, gold) for scores in final], axis=0))


# --- lists of simulated judges ----------------------------------------------------------------------------------------


def listed(
    quality: Array, sizes: Array, told: Told, tolerance: float, *, single: bool, knows: bool, seed: int
) -> tuple[Array, Array]:
    """Transcripts shown over members, and final scores, of one run over all groups."""
    draws = np.random.default_rng(seed)
    used, final = np.zeros(len(quality)), np.zeros(quality.shape)
    for row, (truth, size) in enumerate(zip(quality, sizes, strict=True)):
        everyone = np.ones(len(truth), dtype=bool)
        shown, values = [everyone, everyone], [_answer(truth, size, draws), _answer(truth, size, draws)]
        while True:
            held = np.array(shown)
            scores, squares = _fit(held, np.array(values))
            count = held.sum(axis=0)
            freedom = np.maximum(count - 1 - (len(held) - 1) / len(truth), 0.0)
            if not single:
                variance = np.full(len(truth), float(level(told.group, squares.sum(), freedom.sum())))
            else:
                variance = size**2 if knows else level(told.member, squares, freedom)
            gain = gains(scores[None], (variance / count)[None], (variance / (count * (count + 1)))[None], told.spread)[
                0
            ]
            asked = _asked(gain, scores, tolerance, single=single)
            if not asked.any() or held.sum() >= MOST * len(truth):
                break
            shown.append(asked)
            values.append(np.where(asked, _answer(truth, size, draws), np.nan))
        used[row], final[row] = held.sum() / len(truth), scores
    return used[None], final[None]


def _asked(gain: Array, scores: Array, tolerance: float, *, single: bool) -> Flags:
    """Whom to show next: all or nobody; or those who are worth it beside the two at the ends, or all where that is
    less.
    """
    everyone = np.ones(len(gain), dtype=bool)
    if not single:
        return everyone & (gain.sum() >= tolerance)
    worth = gain * len(gain) >= tolerance
    anchors = np.zeros(len(gain), dtype=bool)
    anchors[[int(np.where(worth, np.inf, scores).argmin()), int(np.where(worth, -np.inf, scores).argmax())]] = True
    chosen = worth | anchors if worth.any() else worth
    # What a part brings, anchors included, must be worth what it shows.
    return chosen if gain[chosen].sum() * len(gain) >= tolerance * chosen.sum() else np.zeros_like(chosen)


def _answer(truth: Array, size: Array, draws: np.random.Generator) -> Array:
    """An answer has a level of its own, as every list has."""
    return np.asarray(truth + draws.normal(0, 0.3) + draws.normal(0, 1, len(truth)) * size)


def _fit(shown: Flags, values: Array) -> tuple[Array, Array]:
    """Member plus answer, least squares: members' scores, and their squared residuals."""
    answers, members = np.nonzero(shown)
    design = np.zeros((len(answers) + 1, shown.shape[1] + len(shown)))
    design[np.arange(len(answers)), members] = 1
    design[np.arange(len(answers)), shown.shape[1] + answers] = 1
    design[-1, shown.shape[1] :] = 1  # answers' levels are zero on average
    said = np.append(values[answers, members], 0.0)
    solved = np.linalg.lstsq(design, said, rcond=None)[0]
    squares = np.bincount(members, ((said - design @ solved)[:-1]) ** 2, minlength=shown.shape[1])
    return solved[: shown.shape[1]], squares


def simulated(groups: int) -> None:
    """Print the table of lists."""
    print("\n## Lists of 8, simulated judges: members beside two anchors less whole groups, at equal transcripts")
    print(
        "| noise, h | knows its noise | transcripts a member | whole | members | difference "
        "|\n|---|---|---|---|---|---|"
    )
    for noise in (0.5, 1.0):
        for spread in (0.0, 0.8):
            draws = np.random.default_rng(7)
            quality = draws.normal(0, 1, (groups, 8))
            sizes = noise * np.exp(draws.normal(0, spread, quality.shape))
            taught = noise * np.exp(draws.normal(0, spread, quality.shape))
            told = learn(
                draws.normal(0, 1, quality.shape)[:, None, :] + taught[:, None, :] * draws.normal(0, 1, (groups, 8, 8))
            )
            for knows in (False, True):
                _row(
                    f"{noise}, {spread} | {'yes' if knows else 'no'}",
                    lambda t, s, q=quality, z=sizes, k=told, n=knows: listed(q, z, k, t, single=s, knows=n, seed=3),
                    quality,
                )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--groups", type=int, default=400, help="simulated groups a judge")
    given = parser.parse_args()
    if recorded_data().is_dir():
        recorded()
    else:
        print(f"no recorded data at {recorded_data()}: set CALIPERS_DATA to where it is")
    simulated(given.groups)
