"""How near a batch's advantages come to the true ones: plain, tied, weighted by reliability; simulated and recorded.

    python -m benchmarks.fidelity.gradient [--batches 300]

Advantages are divided by their group's standard deviation, as in TRL's and verl's default. *Cosine* is that of all
advantages of a batch to the true ones. *All noise tied*: groups with R = 0 have the advantage 0 (``unresolved="tie"``
or ``"abstain"``). *Near ties*: ``ties=1``. *Weighted*: √R. *Corrected*: √R, where the noise in R is multiplied by
(G - 3) / (G - 1), so that R is unbiased before it is cut at 0. *Oracle*: the root of the true reliability, which nobody
knows.

Simulated: batches of 32 groups, normal quality, a share of the groups without any true spread. Recorded: RewardBench 2
(four answers, one right; 8 calls), one batch of all groups, each call in turn as the one that is used, noise learned
from the half of the groups not looked at; the target is gold, or the centred mean of the calls that are not used. A
static gain is not a learning gain: docs/study-findings.md. Needs the recorded data for its second part (sources:
fidelity/data.py); takes a minute.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping

import numpy as np

from benchmarks.environment import recorded_data
from benchmarks.fidelity.data import figure, half, load
from calipers.calibration import repeats
from calipers.calibration.arrays import Array, mean_of_known
from calipers.calibration.series import Frame, Series
from calipers.rewards.near_ties import near_tied_clusters
from calipers.study.intervals import t_quantile
from calipers.types import Scores

GROUPS = 32
METHODS = ("plain", "all noise tied", "near ties", "weighted", "corrected")
_DRAWS = 1000
_MOST_TIED = 16
"""Near ties of larger groups take too long here."""


def standardised(values: Array) -> Array:
    """Values (groups, members) less their group's mean, over its standard deviation; 0 where nothing differs."""
    off = values - values.mean(axis=-1, keepdims=True)
    deviation = off.std(axis=-1, ddof=1, keepdims=True)
    return np.asarray(np.where(deviation > 1e-12, off / np.where(deviation > 1e-12, deviation, 1.0), 0.0))


def reliability(scores: Array, noise: Array, *, corrected: bool = False) -> Array:
    """R of each group (groups, 1), from its scores and the squared standard error (groups, 1) of each of them."""
    size = scores.shape[-1]
    variance = scores.var(axis=-1, ddof=1, keepdims=True)
    factor = max(size - 3, 0) / (size - 1) if corrected else 1.0
    share = 1 - factor * noise / np.where(variance > 0, variance, 1.0)
    return np.asarray(np.where(variance > 0, np.maximum(share, 0.0), 0.0))


def advantages(scores: Array, noise: Array) -> dict[str, Array]:
    """Advantages (groups, members) by method."""
    z, share = standardised(scores), reliability(scores, noise)
    return {
        "plain": z,
        "all noise tied": np.where(share > 0, z, 0.0),
        "near ties": _near_ties(scores, noise),
        "weighted": np.sqrt(share) * z,
        "corrected": np.sqrt(reliability(scores, noise, corrected=True)) * z,
    }


def _near_ties(scores: Array, noise: Array) -> Array:
    if scores.shape[-1] > _MOST_TIED:
        return np.full(scores.shape, np.nan)
    return standardised(np.array([_tied(row, float(one[0])) for row, one in zip(scores, noise, strict=True)]))


def _tied(row: Array, noise: float) -> Array:
    made = row.copy()
    for cluster in near_tied_clusters(Scores(tuple(row.tolist()), (noise**0.5,) * len(row)), within=1.0):
        made[cluster] = row[cluster].mean()
    return made


def cosine(found: Array, true: Array) -> float:
    """The cosine of all entries; 0 where either is 0."""
    size = float(np.sqrt((found**2).sum() * (true**2).sum()))
    if np.isnan(size):
        return float("nan")
    return float((found * true).sum()) / size if size > 0 else 0.0


# --- simulated --------------------------------------------------------------------------------------------------------


def simulated(*, batches: int, size: int, null: float, share: float, answers: int | None) -> dict[str, Array]:
    """Cosines by method, one for each batch. ``share`` is the reliability of a score in a group with true spread.

    With ``answers`` the noise is not known but estimated from so many answers a group, each with that many times the
    noise, so that the scores are as noisy.
    """
    dice = np.random.default_rng([size, round(100 * null), round(100 * share), answers or 0])
    spread, found = np.sqrt(share / (1 - share)), {name: np.zeros(batches) for name in (*METHODS, "oracle")}
    for batch in range(batches):
        real = np.arange(GROUPS) >= round(null * GROUPS)
        true = spread * dice.standard_normal((GROUPS, size)) * real[:, None]
        noise = np.ones((GROUPS, 1))
        errors = dice.standard_normal((GROUPS, size))
        if answers is not None:
            said = dice.standard_normal((GROUPS, answers, size)) * answers**0.5
            errors = said.mean(axis=1)
            rest = said - said.mean(axis=1, keepdims=True) - said.mean(axis=2, keepdims=True)
            rest = rest + said.mean(axis=(1, 2), keepdims=True)
            noise = (rest**2).sum(axis=(1, 2))[:, None] / ((answers - 1) * (size - 1)) / answers
        made = advantages(true + errors, noise)
        made["oracle"] = np.sqrt(share) * real[:, None] * made["plain"]
        for name, one in made.items():
            found[name][batch] = cosine(one, standardised(true))
    return found


def simulation(batches: int) -> None:
    """Print the table: one setting, and its neighbours one at a time."""
    usual = {"size": 8, "null": 0.4, "share": 0.8, "answers": None}
    rows: list[Mapping[str, object]] = [
        usual,
        *(usual | {"size": size} for size in (4, 16, 64)),
        *(usual | {"null": null} for null in (0.0, 0.2, 0.6, 0.8)),
        *(usual | {"share": share} for share in (0.2, 0.5, 0.95)),
        *(usual | {"answers": answers} for answers in (2, 4)),
        usual | {"answers": 2, "size": 4},
    ]
    heads = ("group of", "without spread", "reliability", "noise from", *METHODS, "oracle", "weighted less plain")
    print(f"| {' | '.join(heads)} |")
    print("|---" * (len(METHODS) + 6) + "|")
    for row in rows:
        found = simulated(batches=batches, **row)  # type: ignore[arg-type]  # the table's own values
        cells = [f"{one.mean():.3f}" if not np.isnan(one).any() else "-" for one in found.values()]
        gain = found["weighted"] - found["plain"]
        width = 1.96 * gain.std(ddof=1) / np.sqrt(batches)
        source = "prior" if row["answers"] is None else f"{row['answers']} answers"
        setting = f"| {row['size']} | {row['null']:.0%} | {row['share']} | {source} "
        print(f"{setting}| {' | '.join(cells)} | {gain.mean():+.3f} ± {width:.3f} |")


# --- recorded ---------------------------------------------------------------------------------------------------------

Parts = tuple[Array, Array, Array]
"""By group: products of found and true advantages, squares of the found, squares of the true."""


def parts(series: Series, gold: Array, learned: Array, target: str) -> dict[str, Parts]:
    """What a cosine is made of, by method, summed over every call as the one that is used."""
    sums: dict[str, list[Array]] = {}
    for call in range(series.most):
        scores = series.calls[:, call]
        rest = mean_of_known(np.delete(series.calls, call, axis=1), axis=1)
        usable = ~np.isnan(scores).any(axis=1) & ~np.isnan(rest).any(axis=1) & ~np.isnan(gold).any(axis=1)
        true = standardised(gold) if target == "gold" else rest - rest.mean(axis=1, keepdims=True)
        for name, made in advantages(np.where(usable[:, None], scores, 0.0), learned[:, None]).items():
            kept = np.where(usable[:, None], made, 0.0)
            aimed = np.where(usable[:, None], true, 0.0)
            found = [(kept * aimed).sum(axis=1), (kept**2).sum(axis=1), (aimed**2).sum(axis=1)]
            before = sums.get(name, [np.zeros(len(gold))] * 3)
            sums[name] = [a + b for a, b in zip(before, found, strict=True)]
    return {name: (one[0], one[1], one[2]) for name, one in sums.items()}


def learned_noise(frame: Frame, series: Series) -> Array:
    """The noise of one call in each group, learned from the other half of the groups."""
    chosen = half(frame, series.rows)
    found = np.full(len(chosen), np.nan)
    for part in (chosen, ~chosen):
        known = repeats.learn_noise(series.calls[~part], shared=False)
        if known is not None:
            found[part] = known.noise.variance
    return found


def cosines(found: Parts, picked: Array) -> Array:
    """The cosine of each draw of groups (draws, groups)."""
    products, squares, true = (one[picked].sum(axis=-1) for one in found)
    return np.asarray(products / np.sqrt(squares * true))


def recorded(target: str) -> None:
    """Print a row for each series, and the mean gain of weights with its interval."""
    frame, found = load("rb2_k8")
    print(f"| judge, prompt, temperature | {' | '.join(METHODS)} | weighted less plain |")
    print("|---" * (len(METHODS) + 2) + "|")
    gains, dice = [], np.random.default_rng(0)
    for series in found:
        made = parts(series, frame.gold[list(series.rows)], learned_noise(frame, series), target)
        count = len(series.rows)
        everyone, drawn = np.arange(count)[None, :], dice.integers(0, count, (_DRAWS, count))
        cells = [f"{cosines(made[name], everyone)[0]:.3f}" for name in METHODS]
        gain = cosines(made["weighted"], drawn) - cosines(made["plain"], drawn)
        gains.append(gain)
        here = float((cosines(made["weighted"], everyone) - cosines(made["plain"], everyone))[0])
        low, high = np.quantile(gain, (0.025, 0.975))
        key = series.key
        name = f"{key.judge}, {key.prompt_variant}, {key.temperature:g}"
        print(f"| {name} | {' | '.join(cells)} | {here:+.3f} {figure((low, high))} |")
    means = np.array([one.mean() for one in gains])
    width = t_quantile(0.975, len(means) - 1) * means.std(ddof=1) / np.sqrt(len(means))
    better, clear = int((means >= 0).sum()), means.mean() - width > 0
    every = "met " if better == len(means) else "MISS"
    print(f"\n{every}  {target}: weighted at least as near as plain in {better} of {len(means)} series")
    print(f"{'met ' if clear else 'MISS'}  {target}: mean gain {means.mean():+.4f} ± {width:.4f} over series\n")


def main(arguments: list[str] | None = None, out: Callable[[str], object] = print) -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batches", type=int, default=300, help="simulated batches a row")
    simulation(parser.parse_args(arguments).batches)
    if not recorded_data().is_dir():
        out(f"no recorded data at {recorded_data()}: set CALIPERS_DATA to where it is")
        return
    for target in ("gold", "other calls"):
        out(f"\nrecorded, against {target}:")
        recorded(target)


if __name__ == "__main__":
    main()
