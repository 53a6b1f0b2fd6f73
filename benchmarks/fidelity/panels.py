"""Panels: weights learned without labels, next to equal weights, weights fitted on gold, and the best member alone.

Weights come from one half of the groups and are used on the other, both ways; no group is scored by weights it taught.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.fidelity.data import Target, figure, half, load, selected
from calipers.aggregators.panel_weights import learn_weights
from calipers.calibration import measures
from calipers.calibration.measures import Array, Flags, mean_of_known
from calipers.calibration.records import Key
from calipers.calibration.series import Frame, Series
from calipers.calibration.ways import standard_scores, window_mean

GRID = (0.0, 0.15, 0.3, 0.5, 0.75, 1.0, 1.4, 2.0, 3.0, 4.0)
VARIANTS = ("Vanilla", "Vanilla_NoRules", "CoT", "Metrics_Reference", "Swap")
SPLITS = 5
ROUNDS = 3
WEAK = 0.1
"""A member is weak when its fidelity is this far below the best member's."""


@dataclass(frozen=True, slots=True)
class Row:
    """Fidelity from one call of each member; ``best`` is the best member alone, asked as often as all together.

    ``fitted_gain`` is the interval of weights fitted on gold less equal ones, ``short`` that of what is fitted on gold
    less what is learned: what the data can tell at all.
    """

    name: str
    groups: int
    members: int
    weakest: float
    strongest: float
    best: float
    equal: float
    learned: float
    fitted: float
    gain: tuple[float, float] | None
    fitted_gain: tuple[float, float] | None
    short: tuple[float, float] | None
    repeated: bool

    @property
    def weak(self) -> bool:
        return self.strongest - self.weakest >= WEAK


def measure(name: str, loaded: tuple[Frame, Sequence[Series]], keep: Callable[[Key], bool]) -> Row:
    """One panel, of all judges with a series that is kept."""
    frame, every = loaded
    series = [one for one in every if keep(one.key)]
    members, known = _members(series, frame)
    known &= ~np.isnan(_fidelity(members, None, frame.gold, 1))
    members = [one[known] for one in members]
    rows, gold = [int(row) for row in np.flatnonzero(known)], frame.gold[known]
    alone = [_level(_fidelity([one], None, gold, 1)) for one in members]
    equal = _fidelity(members, None, gold, 1)
    learned, fitted = np.zeros(len(rows)), np.zeros(len(rows))
    for split in range(SPLITS):
        first = half(frame, rows, split)
        for teach, use in ((first, ~first), (~first, first)):
            there = [one[teach] for one in members]
            learned[use] += _used(members, learn_weights(there), gold, use) / SPLITS
            fitted[use] += _used(members, _fit(members, gold, teach), gold, use) / SPLITS
    often = [min(len(members), one.shape[1]) for one in members]
    best = max(_level(_fidelity([one], None, gold, count)) for one, count in zip(members, often, strict=True))
    apart = (measures.bootstrap_interval(one) for one in (learned - equal, fitted - equal, fitted - learned))
    means = (_level(part) for part in (equal, learned, fitted))
    repeated = all(one.shape[1] > 1 for one in members)
    return Row(name, len(rows), len(members), min(alone), max(alone), best, *means, *apart, repeated)


def _members(series: Sequence[Series], frame: Frame) -> tuple[list[Array], Flags]:
    """Each judge's calls with the prompt variant that most judges share, at the highest temperature.

    Also flags of the groups that all of them were recorded on.
    """
    variants = Counter(variant for _, variant in {(one.key.judge, _variant(one)) for one in series})
    chosen: dict[str, Series] = {}
    for one in series:
        held = chosen.get(one.key.judge)
        if held is None or _rank(one, variants) > _rank(held, variants):
            chosen[one.key.judge] = one
    rows = set.intersection(*({*one.rows} for one in chosen.values()))
    known = np.array([row in rows for row in range(len(frame.groups))])
    return [one.on_frame(one.calls, frame) for one in chosen.values()], known


def _variant(series: Series) -> tuple[str, str]:
    return series.key.mode, series.key.prompt_variant or ""


def _rank(series: Series, variants: Mapping[tuple[str, str], int]) -> tuple[int, float]:
    return variants[_variant(series)], -1.0 if series.key.temperature is None else series.key.temperature


def _fidelity(members: Sequence[Array], weights: Sequence[float] | None, gold: Array, count: int) -> Array:
    """Each group's fidelity of the panel from ``count`` calls per member, the mean over cyclic windows."""
    most = max(one.shape[1] for one in members)
    shares = np.array(weights or (1.0,) * len(members))[:, None, None]
    levels = []
    for start in range(most if count < most else 1):
        standard = np.array([standard_scores(window_mean(one, start, count)) for one in members])
        known = np.where(np.isnan(standard), 0.0, shares)
        total = known.sum(axis=0)
        scores = (np.nan_to_num(standard) * known).sum(axis=0) / np.where(total > 0, total, 1.0)
        levels.append(measures.fidelity(np.where(total > 0, scores, np.nan), gold))
    return mean_of_known(np.array(levels), axis=0)


def _level(by_group: Array) -> float:
    return measures.mean_over_groups(by_group) or 0.0


def _used(members: Sequence[Array], weights: Sequence[float], gold: Array, use: Flags) -> Array:
    return _fidelity([one[use] for one in members], weights, gold[use], 1)


def _fit(members: Sequence[Array], gold: Array, teach: Flags) -> list[float]:
    """Weights by coordinate search on gold, starting from equal ones."""
    weights = [1.0] * len(members)
    for _ in range(ROUNDS):
        for place in range(len(weights)):
            tried = {value: [*weights[:place], value, *weights[place + 1 :]] for value in GRID}
            levels = {value: _level(_used(members, one, gold, teach)) for value, one in tried.items() if any(one)}
            weights[place] = max(levels, key=lambda value: (levels[value], -abs(value - weights[place])))
    return weights


def rows() -> list[Row]:
    """All panels with gold in the recorded data."""
    rb2, hanna = load("rb2_k8"), load("hanna")
    base = [one for one in rb2[1] if one.key.prompt_variant == "base" and one.key.temperature == 1.0]
    natural, other = selected("llmbar", is_natural), selected("llmbar", lambda name: not is_natural(name))
    names = sorted({one.key.judge for one in base})
    found = [measure("rb2_k8: all three", (rb2[0], base), lambda _: True)]
    found += [measure(f"rb2_k8: without {out}", (rb2[0], base), lambda key, o=out: key.judge != o) for out in names]
    found += [measure(f"hanna: eval{n}", hanna, lambda key, n=n: key.prompt_variant == f"eval{n}") for n in range(1, 5)]
    found += [measure(name, load(name), lambda _: True) for name in ("openqa301", "pandalm")]
    for subset, loaded in (("natural", natural), ("other", other)):
        for name in VARIANTS:
            keep = functools.partial(_is_variant, name)
            found.append(measure(f"llmbar {subset}: {name}", loaded, keep))
    return found


def _is_variant(name: str, key: Key) -> bool:
    return key.mode == "pairwise" and key.prompt_variant == name


def is_natural(group_id: str) -> bool:
    """Whether an llmbar pair is of the subsets where judges are above chance."""
    return group_id.startswith(("llmbar:Processed/", "llmbar:LLMBar/Natural"))


def report() -> list[Target]:
    """Print the table of panels, and say which targets it reaches."""
    found = rows()
    print("\n## Panels, one call of each member: advantage fidelity (weights from the other half)")
    print(
        f"{'panel':32}{'groups':>7}{'J':>3}{'weakest':>9}{'best':>8}{'best xJ':>9}{'equal':>8}{'learned':>9}{'gold':>8}"
        "  learned - equal      gold - equal         gold - learned"
    )
    for row in found:
        alone = f"{row.weakest:9.4f}{row.strongest:8.4f}{row.best:9.4f}"
        print(
            f"{row.name:32}{row.groups:7}{row.members:3}{alone}{row.equal:8.4f}{row.learned:9.4f}{row.fitted:8.4f}"
            f"  {figure(row.gain):19}  {figure(row.fitted_gain):19}  {figure(row.short)}"
        )
    usual = [row for row in found if "other" not in row.name]
    parts = {
        "members asked twice or more": [row for row in usual if row.repeated],
        "members asked once": [row for row in usual if not row.repeated],
        "llmbar's other subsets": [row for row in found if "other" in row.name],
    }
    return [target for what, part in parts.items() for target in _targets(what, part)]


def _targets(what: str, part: Sequence[Row]) -> list[Target]:
    short = [row.fitted - row.learned for row in part]
    weak = [row.learned - row.equal for row in part if row.weak]
    below = [row.learned - row.equal for row in part]
    near, gained, kept = (
        sum(one <= 0.01 for one in short), sum(one >= 0.01 for one in weak), sum(one >= -0.002 for one in below)
    )  # fmt: skip
    count = len(part)
    surely = sum((row.short or (0.0, 0.0))[0] > 0.01 for row in part)
    gold_gains = sum(row.fitted - row.equal >= 0.01 for row in part if row.weak)
    return [
        Target(
            f"panel, {what}: within 0.01 of weights fitted on gold", near == count,
            f"{near} of {count}, worst short by {max(short):+.4f}; surely more than 0.01 short: {surely}",
        ),
        Target(
            f"panel, {what}: 0.01 above equal weights where a member is weak", gained == len(weak),
            f"{gained} of {len(weak)}, least {min(weak, default=0):+.4f}; weights fitted on gold: {gold_gains}",
        ),
        Target(
            f"panel, {what}: never below equal weights by more than 0.002", kept == count,
            f"{kept} of {count}, worst {min(below):+.4f}",
        ),
    ]  # fmt: skip
