"""What near ties and length control cost a judge's signal, beside the chains that 0.1.0 made of near scores.

Simulated groups: qualities are normal, scores are qualities and noise of a known standard error, so that a share
``reliability`` of their variance is signal; lengths are random and say nothing. Fidelity is the mean correlation of
rewards with qualities within groups. *Beyond* is the share of pairs more than one standard error of their difference
apart that were made equal or changed places.
"""

from __future__ import annotations

import argparse
import itertools
import math
import random
import statistics
from collections.abc import Callable, Sequence

from calipers.rewards.near_ties import near_tied_clusters
from calipers.types import Scores

Clusters = Callable[[Scores], list[list[int]]]


def chains(scores: Scores) -> list[list[int]]:
    """Single linkage, as 0.1.0 had it: each within one standard error of the next."""
    found: list[list[int]] = []
    for item in sorted(range(len(scores.values)), key=lambda one: -(scores.values[one] or 0.0)):
        last = found[-1][-1] if found else None
        if last is not None and _apart(scores, last, item) <= 1:
            found[-1].append(item)
        else:
            found.append([item])
    return found


def _apart(scores: Scores, one: int, other: int) -> float:
    error = math.hypot(scores.stderrs[one] or 0.0, scores.stderrs[other] or 0.0)
    return ((scores.values[one] or 0.0) - (scores.values[other] or 0.0)) / error


def tied(values: Sequence[float], clusters: list[list[int]]) -> list[float]:
    """``ties=1``: each cluster's mean."""
    rewards = list(values)
    for cluster in clusters:
        mean = statistics.fmean(values[item] for item in cluster)
        for item in cluster:
            rewards[item] = mean
    return rewards


def by_length(
    values: Sequence[float], clusters: list[list[int]], lengths: Sequence[int], strength: float
) -> list[float]:
    """``length=strength``: that share of each cluster's range goes by length."""
    rewards = list(values)
    for cluster in clusters:
        low, high = min(values[item] for item in cluster), max(values[item] for item in cluster)
        for item in cluster:
            others = [lengths[other] for other in cluster if other != item]
            shorter = statistics.fmean(lengths[item] < other for other in others) if others else 1.0
            rewards[item] = (1 - strength) * values[item] + strength * (low + shorter * (high - low))
    return rewards


def correlation(one: Sequence[float], other: Sequence[float]) -> float:
    """Pearson's; 0 where one is constant."""
    return statistics.correlation(one, other) if len(set(one)) > 1 else 0.0


def beyond(scores: Scores, rewards: Sequence[float]) -> tuple[int, int]:
    """Pairs surely apart that are equal or turned round, and all pairs surely apart."""
    values = [value or 0.0 for value in scores.values]
    pairs = [
        (one, other)
        for one, other in itertools.permutations(range(len(values)), 2)
        if values[one] > values[other] and _apart(scores, one, other) > 1
    ]
    return sum(rewards[one] <= rewards[other] for one, other in pairs), len(pairs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--groups", type=int, default=2000)
    parser.add_argument("--reliability", type=float, default=0.8)
    given = parser.parse_args()
    print(f"{given.groups} groups a row, reliability {given.reliability:g}, one standard error, length control 0.6\n")
    print(f"{'':24}{'as scored':>10}{'ties=1':>10}{'beyond':>9}{'length=.6':>11}{'beyond':>9}")
    for size, (name, clusters) in itertools.product((4, 8, 16), (("chains (0.1.0)", chains), ("clusters", _clusters))):
        print(f"group of {size:<3}{name:15}{_row(size, clusters, given.groups, given.reliability)}")


def _clusters(scores: Scores) -> list[list[int]]:
    return near_tied_clusters(scores, within=1.0)


def _row(size: int, clusters: Clusters, groups: int, reliability: float) -> str:
    rng = random.Random(size)
    noise = math.sqrt(1 / reliability - 1)
    plain, ties, lengths_, wrong = [], [], [], [[0, 0], [0, 0]]
    for _ in range(groups):
        quality = [rng.gauss(0, 1) for _ in range(size)]
        values = [one + rng.gauss(0, noise) for one in quality]
        lengths = [rng.randrange(100, 10_000) for _ in range(size)]
        scores = Scores(tuple(values), (noise,) * size)
        found = clusters(scores)
        made = (tied(values, found), by_length(values, found, lengths, 0.6))
        plain.append(correlation(values, quality))
        ties.append(correlation(made[0], quality))
        lengths_.append(correlation(made[1], quality))
        for tally, rewards in zip(wrong, made, strict=True):
            bad, all_ = beyond(scores, rewards)
            tally[0] += bad
            tally[1] += all_
    shares = [bad / max(all_, 1) for bad, all_ in wrong]
    means = [statistics.fmean(one) for one in (plain, ties, lengths_)]
    return f"{means[0]:>9.3f}{means[1]:>10.3f}{shares[0]:>9.1%}{means[2]:>11.3f}{shares[1]:>9.1%}"


if __name__ == "__main__":
    main()
