"""Panels without labels: learned weights next to equal ones, the geometric median, and the best member alone.

Weights come from one half of the groups and are used on the other, both ways; the best member is chosen on the first
half by gold. Each panel is measured as recorded, and then with one member replaced, in turn, by a judge that knows
nothing: its scores flipped, or first, or a fixed ranking of each group or of all groups, or a steady rule against
quality (as "the shortest is best" often is).
"""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np

from benchmarks.fidelity.data import Target, depth, load, selected
from calipers.aggregators.panel_weights import learn_weights, standard_scores
from calipers.calibration import measures
from calipers.calibration.measures import Array, mean_of_known
from calipers.calibration.series import Frame, Series
from calipers.calibration.ways import window_mean

HALVES: Final = 5
ALLOWED: Final = 0.01
Vice: TypeAlias = Callable[[Array, np.random.Generator], Array]
"""A judge's calls (groups, calls, members) from those of the honest judge that it replaces."""


def _rankings(shape: tuple[int, ...], generator: np.random.Generator) -> Array:
    groups, _, members = shape
    return generator.permuted(np.tile(np.arange(float(members)), (groups, 1)), axis=1)[:, None]


def _first(calls: Array, generator: np.random.Generator) -> Array:
    signs = np.where(np.arange(calls.shape[1]) % 2, -1.0, 1.0)[None, :, None]  # every second call in reversed order
    return np.asarray(_rankings(calls.shape, generator) * signs)


def _fixed(calls: Array, generator: np.random.Generator, against: float = 0.0) -> Array:
    quality = np.nan_to_num(standard_scores(mean_of_known(calls, axis=1)))[:, None]
    rule = np.nan_to_num(standard_scores(_rankings(calls.shape, generator))) - against * quality
    return np.repeat(rule, calls.shape[1], axis=1)


VICES: Final[dict[str, Vice]] = {
    "flipped": lambda calls, _: -calls,
    "always first": _first,
    "fixed ranking": _fixed,
    "same member": lambda calls, _: np.broadcast_to(np.arange(float(calls.shape[2])), calls.shape),
    "against quality": functools.partial(_fixed, against=0.7),
}


@dataclass(frozen=True, slots=True)
class Row:
    """Fidelity from one call of each member; ``vice`` is that of one member in turn, None as recorded."""

    name: str
    vice: str | None
    members: int
    equal: float
    learned: float
    median: float
    single: float
    worst: float
    """The lowest fidelity of learned weights over the members that were replaced."""


def measured(name: str, members: Sequence[Array], gold: Array) -> Iterator[Row]:
    """Yield the figures of one panel, as recorded and with each vice."""
    yield Row(name, None, len(members), *_levels(members, gold))
    for vice, corrupt in VICES.items() if len(members) > 3 else ():
        levels = []
        for place, honest in enumerate(members):
            replaced = np.where(np.isnan(honest), np.nan, corrupt(honest, np.random.default_rng(place)))
            levels.append(_levels([*members[:place], replaced, *members[place + 1 :]], gold))
        means = [float(np.mean(column)) for column in zip(*levels, strict=True)]
        yield Row(name, vice, len(members), *means[:4], min(one[1] for one in levels))


def _levels(members: Sequence[Array], gold: Array) -> tuple[float, float, float, float, float]:
    starts = range(min(4, max(one.shape[1] for one in members)))
    scores = [
        np.array([standard_scores(window_mean(one, depth(one), start, 1)) for one in members]) for start in starts
    ]
    alone = np.array([mean_of_known(np.array([measures.fidelity(call[n], gold) for call in scores]), axis=0)
                      for n in range(len(members))])  # fmt: skip

    def level(combine: Callable[[Array], Array]) -> Array:
        return np.nan_to_num(mean_of_known(np.array([measures.fidelity(combine(one), gold) for one in scores]), axis=0))

    learned, single = np.zeros(len(gold)), np.zeros(len(gold))
    for seed in range(HALVES):
        first = np.random.default_rng(seed).permutation(len(gold)) < len(gold) / 2
        for teach, use in ((first, ~first), (~first, first)):
            weights = np.array(learn_weights([one[teach] for one in members]))
            learned[use] += level(functools.partial(weighted_mean, weights=weights))[use] / HALVES
            single[use] += alone[int(np.nanmean(alone[:, teach], axis=1).argmax())][use] / HALVES
    equal = level(functools.partial(weighted_mean, weights=np.ones(len(members))))
    means = (equal, learned, level(geometric_median), single, learned)
    a, b, c, d, e = (float(np.nanmean(one)) for one in means)
    return a, b, c, d, e


def weighted_mean(scores: Array, weights: Array) -> Array:
    """Return the mean over judges of standard scores (judges, groups, members); ``weights`` may be by group."""
    shares = np.where(np.isnan(scores), 0.0, weights.reshape(len(weights), -1, 1))
    total = shares.sum(axis=0)
    return np.where(total > 0, (np.nan_to_num(scores) * shares).sum(axis=0) / np.where(total > 0, total, 1.0), np.nan)


def geometric_median(scores: Array) -> Array:
    """Return the scores in each group with the least sum of distances to the judges' (Weiszfeld 1937)."""
    weights = np.ones(scores.shape[:2])
    for _ in range(25):
        off = np.nan_to_num(scores - weighted_mean(scores, weights))
        weights = 1 / np.maximum(np.sqrt((off**2).sum(axis=2)), 1e-3)
    return weighted_mean(scores, weights)


def recorded() -> Iterator[tuple[str, list[Array], Array]]:
    """Yield all panels with gold in the recorded data: name, members' calls, gold."""
    hot = [one for one in load("rb2_k8")[1] if one.key.temperature == 1.0]
    yield "rb2_k8: all, two prompts", *shared(load("rb2_k8")[0], hot)
    yield "rb2_k8: all three", *shared(load("rb2_k8")[0], [one for one in hot if one.key.prompt_variant == "base"])
    frame, series = load("hanna")
    for criterion in ("coherence", "engagement"):
        asked: dict[str, list[Series]] = defaultdict(list)
        for one in series:
            if str(one.key.prompt_variant).endswith(criterion):
                asked[one.key.judge].append(one)
        yield (
            f"hanna: {criterion}",
            [np.concatenate([one.calls for one in own], axis=1) for own in asked.values()],
            frame.gold,
        )
        yield f"hanna: {criterion}, once", [own[0].calls for own in asked.values()], frame.gold
    yield "openqa301", *shared(*load("openqa301"))
    yield "pandalm", *shared(*load("pandalm"))
    for kind, keep in (("natural", is_natural), ("other", lambda name: not is_natural(name))):
        frame, series = selected("llmbar", keep)
        for variants in (("CoT",), ("Vanilla",), ("Vanilla", "CoT")):
            some = [one for one in series if one.key.mode == "pairwise" and one.key.prompt_variant in variants]
            yield f"llmbar {kind}: {' and '.join(variants)}", *shared(frame, some)


def shared(frame: Frame, series: Sequence[Series]) -> tuple[list[Array], Array]:
    """Return the calls of all judges, and gold, in the groups that all of them scored."""
    members = [one.on_frame(one.calls, frame) for one in series]
    known = np.all([measures.measurable_groups(one[:, 0], frame.gold) for one in members], axis=0)
    return [one[known] for one in members], frame.gold[known]


def is_natural(group_id: str) -> bool:
    """Whether an llmbar pair is of the subsets where judges are above chance."""
    return group_id.startswith(("llmbar:Processed/", "llmbar:LLMBar/Natural"))


def report() -> list[Target]:
    """Print the table of panels, and say which targets it reaches."""
    found = [row for panel in recorded() for row in measured(*panel)]
    print("\n## Panels without labels, one call of each member: advantage fidelity (weights from the other half)")
    print(f"{'panel':32}{'one member is':17}{'J':>3}{'single':>8}{'equal':>8}{'median':>8}{'learned':>9}{'worst':>8}")
    for row in found:
        levels = f"{row.single:8.3f}{row.equal:8.3f}{row.median:8.3f}{row.learned:9.3f}{row.worst:8.3f}"
        print(f"{row.name:32}{row.vice or '':17}{row.members:3}{levels}")
    targets = []
    for text, other in (("equal weights", "equal"), ("the geometric median", "median")):
        behind = [row for row in found if row.learned < getattr(row, other) - ALLOWED]
        least = min(found, key=lambda row: row.learned - getattr(row, other))
        worst = f"worst {least.learned - getattr(least, other):+.3f} ({least.name}, {least.vice or 'as recorded'})"
        told = f"{len(found) - len(behind)} of {len(found)}, {worst}"
        targets.append(Target(f"learned weights at most {ALLOWED} below {text}", not behind, told))
    return targets
