"""Whether stated errors of recorded judges are honest: predicted beside realised squared error on disjoint calls.

    python -m benchmarks.fidelity.reliability

Two scores of the same candidate come from disjoint calls, so their squared difference has the expectation
se_a² + se_b² if standard errors are honest. *Ratio* is the sum of the realised over the sum of the predicted, with a
95 % interval over groups: above 1 errors are larger than stated. What is *learned* comes from the other half of the
groups, never from those that are looked at. The last columns are the same ratio among the fifth of the groups with the
smallest and with the largest stated errors. Pairwise errors are assumed by the Bradley-Terry model (comparisons are
independent), not learned; they have no target. Needs the recorded data (sources: fidelity/data.py); takes seconds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from benchmarks.environment import recorded_data
from benchmarks.fidelity.data import half, load
from calipers.aggregators.bradley_terry import BradleyTerry
from calipers.aggregators.noise import Noise
from calipers.calibration import repeats
from calipers.calibration.measures import Array, mean_of_known
from calipers.calibration.series import Frame, Series

SETS = ("rb2_k8", "llmbar", "posbias_repeat")
HONEST = (0.9, 1.1)
_DRAWS = 2000

Compared = tuple[Array, Array]
"""Realised and predicted squared differences, a sum for each group."""


def learned_halves(frame: Frame, series: Series, count: int) -> Compared:
    """Scores from ``count`` calls and from the next, from every start, with noise learned from groups not looked at."""
    chosen = half(frame, series.rows)
    realised, predicted = np.zeros(len(chosen)), np.zeros(len(chosen))
    for part in (chosen, ~chosen):
        known = repeats.learn_noise(series.calls[~part], shared=False)
        if known is None:
            continue
        for start in range(series.most):
            rolled = np.roll(series.calls[part], -start, axis=1)
            (a, a_error), (b, b_error) = (_scored(rolled[:, at : at + count], known) for at in (0, count))
            both = ~np.isnan(a) & ~np.isnan(b)
            realised[part] += np.where(both, (a - b) ** 2, 0.0).sum(axis=1)
            predicted[part] += np.where(both, a_error + b_error, 0.0).sum(axis=1)
    return realised, predicted


def _scored(calls: Array, noise: Noise) -> tuple[Array, Array]:
    squares, freedom = repeats.squared_residuals(calls, shared=False)
    variance = [noise.variance_of(float(s), int(f)) for s, f in zip(squares, freedom, strict=True)]
    known = ~np.isnan(calls)
    count = np.maximum(known.sum(axis=1), 1)
    return mean_of_known(calls, axis=1), np.array(variance)[:, None] / count


def assumed_halves(series: Series, count: int) -> Compared:
    """Strengths from the first ``count`` calls and from the next, with the errors of the Bradley-Terry model."""
    realised, predicted = [], []
    fit, n = BradleyTerry(), series.calls.shape[2]
    for calls in series.meetings:
        a, b = (fit([one for call in calls[start : start + count] for one in call], n) for start in (0, count))
        rows = [
            ((x - y) ** 2, p**2 + q**2)
            for x, y, p, q in zip(a.values, b.values, a.stderrs, b.stderrs, strict=True)
            if x is not None and y is not None and p is not None and q is not None
        ]
        realised.append(math.fsum(one for one, _ in rows))
        predicted.append(math.fsum(one for _, one in rows))
    return np.array(realised), np.array(predicted)


def ratio(realised: Array, predicted: Array) -> tuple[float, float, float]:
    """The ratio of the sums, and its bootstrap interval over groups."""
    usable = predicted > 0
    one, other = realised[usable], predicted[usable]
    generator = np.random.default_rng(0)
    picked = generator.integers(0, len(one), (_DRAWS, len(one)))
    drawn = one[picked].sum(axis=1) / other[picked].sum(axis=1)
    low, high = np.quantile(drawn, (0.025, 0.975))
    return float(one.sum() / other.sum()), float(low), float(high)


def rows() -> Iterator[tuple[str, str, int, Compared]]:
    """Every series with repeats: its name, what its errors rest on, calls in each half, and what was compared."""
    for name in SETS:
        frame, found = load(name)
        for one in found:
            key = one.key
            title = " ".join(
                str(part) for part in (name, key.judge, key.prompt_variant, key.temperature) if part is not None
            )
            for count in (1, 2, 4):
                if 2 * count > one.most:
                    continue
                if key.mode == "pointwise":
                    yield title, "learned", count, learned_halves(frame, one, count)
                elif one.meetings:
                    yield title, "assumed", count, assumed_halves(one, count)


def fifths(realised: Array, predicted: Array) -> tuple[str, str]:
    """The ratio among the fifths of the groups with the smallest and the largest predicted error."""
    order = np.argsort(predicted, kind="stable")
    order = order[predicted[order] > 0]
    if len(order) < 50 or np.ptp(predicted[order]) < 1e-6 * predicted[order].mean():
        return "-", "-"
    ends = (order[: len(order) // 5], order[-(len(order) // 5) :])
    calm, noisy = (realised[end].sum() / predicted[end].sum() for end in ends)
    return f"{calm:.2f}", f"{noisy:.2f}"


def main(out: Callable[[str], object] = print) -> None:
    """Print the table, then the target."""
    if not recorded_data().is_dir():
        out(f"no recorded data at {recorded_data()}: set CALIPERS_DATA to where it is")
        return
    out("| judge | errors | calls | ratio | 95 % interval | calmest fifth | noisiest fifth |\n" + "|---" * 7 + "|")
    learned = []
    for name, basis, count, compared in rows():
        if not (compared[1] > 0).any():
            continue
        found, low, high = ratio(*compared)
        calm, noisy = fifths(*compared)
        out(f"| {name} | {basis} | {count} | {found:.2f} | [{low:.2f}, {high:.2f}] | {calm} | {noisy} |")
        if basis == "learned":
            learned.append(found)
    reached = sum(HONEST[0] <= one <= HONEST[1] for one in learned)
    met = "met " if reached == len(learned) else "MISS"
    out(f"\n{met}  learned errors within {HONEST[0]}-{HONEST[1]} of realised: {reached} of {len(learned)} rows")


if __name__ == "__main__":
    main()
