"""Whether weights that follow the verdicts bring rubric rewards closer to the true ones, and what they cost.

    python -m benchmarks.fidelity.contrast_weights

Simulated groups: a rubric of 12 criteria in three categories with points from 1 to 10. A criterion is *live* with
probability 0.4: its true pass rate among candidates is drawn between 0.2 and 0.8; the others are met by 97 % or by 3 %.
The judge states each verdict wrongly with the probability *error*. The true reward is the score by human points and
true verdicts. *Cosine* is that of a group's centred rewards to the true ones, over groups whose true rewards differ.
*Noise* is the root mean square of centred rewards in groups whose candidates all meet the same criteria, where every
difference is an error. With an error of 0 the human points are the truth by definition. Takes two minutes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from calipers.rubric import Criterion, Grading, Rubric
from calipers.rubric.contrast import contrast_rubric
from calipers.rubric.formulas import healthbench

CATEGORIES: Final = ("axis:accuracy", "axis:style", "axis:safety")
CRITERIA: Final = 12
GROUPS: Final = 400
SIZES: Final = (4, 8, 16, 32)
ERRORS: Final = (0.0, 0.05, 0.1, 0.2)
SEED: Final = 20164


@dataclass(frozen=True)
class Drawn:
    """A group: its rubric, and verdicts by candidate and criterion, true and stated by the judge."""

    rubric: Rubric
    true: np.ndarray
    stated: np.ndarray


def draw(n: int, error: float, generator: np.random.Generator, *, equal: bool = False) -> Drawn:
    """Draw a group of ``n`` candidates; with ``equal``, all of them meet the same criteria."""
    criteria = tuple(
        Criterion(f"c{k}", "...", float(generator.integers(1, 11)), (CATEGORIES[k % len(CATEGORIES)],))
        for k in range(CRITERIA)
    )
    live = generator.random(CRITERIA) < 0.4
    settled = np.where(generator.random(CRITERIA) < 0.5, 0.97, 0.03)
    rates = np.where(live, generator.uniform(0.2, 0.8, CRITERIA), settled)
    true = generator.random((1 if equal else n, CRITERIA)) < rates
    true = np.repeat(true, n, axis=0) if equal else true
    return Drawn(Rubric(criteria), true, true ^ (generator.random(true.shape) < error))


def rewards(rubric: Rubric, verdicts: np.ndarray) -> np.ndarray:
    """Return the centred scores of all candidates."""
    names = [one.id for one in rubric.criteria]
    scores = np.array([healthbench(rubric, dict(zip(names, map(bool, row), strict=True))) for row in verdicts])
    return scores - scores.mean()


def judged(group: Drawn, grading: Grading) -> np.ndarray:
    """Return the centred rewards from the judge's verdicts."""
    names = [one.id for one in group.rubric.criteria]
    rows = [{name: [float(met)] for name, met in zip(names, row, strict=True)} for row in group.stated]
    human = grading.weights == "human"
    return rewards(group.rubric if human else contrast_rubric(group.rubric, rows, grading), group.stated)


def cosines(n: int, error: float, gradings: list[Grading]) -> list[np.ndarray]:
    """Return each grading's cosines to the true rewards, on the same groups."""
    generator = np.random.default_rng((SEED, n, int(1000 * error)))
    found = []
    for _ in range(GROUPS):
        group = draw(n, error, generator)
        true = rewards(group.rubric, group.true)
        if np.abs(true).max() > 1e-9:
            found.append([_cosine(judged(group, grading), true) for grading in gradings])
    return list(np.array(found).T)


def noises(n: int, error: float, gradings: list[Grading]) -> list[float]:
    """Return each grading's root mean square reward in groups of equal candidates."""
    generator = np.random.default_rng((SEED, n, int(1000 * error), 1))
    groups = [draw(n, error, generator, equal=True) for _ in range(GROUPS)]
    return [float(np.sqrt(np.mean([judged(one, grading) ** 2 for one in groups]))) for grading in gradings]


def _cosine(one: np.ndarray, other: np.ndarray) -> float:
    size = float(np.linalg.norm(one) * np.linalg.norm(other))
    return float(one @ other) / size if size > 1e-12 else 0.0


def settings() -> list[Grading]:
    """Return what is compared: human points, the default cap, and a wide one."""
    more = {"weights": "contrast", "weights_category": "axis"}
    return [Grading(), *(Grading(**more, weights_cap=cap) for cap in (2.0, 4.0))]  # type: ignore[arg-type]


def main(out: Callable[[str], object] = print) -> None:
    """Print a row for each size and error: cosine and noise by human points, gains with 95 % intervals, and ratios."""
    columns = "candidates", "error", "cosine", "gain, cap 2", "gain, cap 4", "noise", "times, cap 2", "times, cap 4"
    out(f"| {' | '.join(columns)} |")
    out("|---" * len(columns) + "|")
    for n in SIZES:
        for error in ERRORS:
            plain, *others = cosines(n, error, settings())
            calm, *noisy = noises(n, error, settings())
            gains = [f"{_interval(one - plain)}" for one in others]
            ratios = [f"{one / calm:.2f}" if calm else "-" for one in noisy]
            row = [str(n), f"{error:g}", f"{plain.mean():.3f}", *gains, f"{calm:.3f}", *ratios]
            out(f"| {' | '.join(row)} |")


def _interval(gains: np.ndarray) -> str:
    half = 1.96 * float(gains.std(ddof=1)) / len(gains) ** 0.5
    return f"{gains.mean():+.3f} ± {half:.3f}"


if __name__ == "__main__":
    main()
