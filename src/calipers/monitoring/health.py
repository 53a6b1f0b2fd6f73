"""Compute health metrics of a batch of results and answers, as one flat dict of numbers that any trainer can log.

Unknown values have no key: no rate without a denominator, no correlation without spread, never NaN.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Final, get_args

from calipers.monitoring.answers import Answer
from calipers.monitoring.correlations import correlations_in_steps
from calipers.monitoring.staleness import staleness_metrics
from calipers.rewards.magnitude import exponent_of, mean_of, scaled
from calipers.rewards.reliable import estimated
from calipers.types import AttackKind, GroupResult, Usage
from calipers.types.steps import Steps, at_once, run_steps


def health_in_steps(
    results: Sequence[GroupResult],
    answers: Sequence[Answer] = (),
    *,
    disagreements: Sequence[float] = (),
) -> Steps[dict[str, float]]:
    """Return the health metrics ``{"judge/...": value}`` over one batch; keys and units are in docs/health.md.

    ``answers`` are what an observer received about the same groups; ``disagreements`` are the audit's, each from 0 to
    1. A step takes about a millisecond for a batch of 256 groups of 8.
    """
    figures = yield from _figures_in_steps(results, answers, disagreements)
    return {name: float(value) for name, value in figures.items() if value is not None and math.isfinite(value)}


health = at_once(health_in_steps)


def _figures_in_steps(
    results: Sequence[GroupResult], answers: Sequence[Answer], disagreements: Sequence[float]
) -> Steps[dict[str, float | None]]:
    """Return every health metric by its name: None where it is not known."""
    figures = {"audit_disagreement": _mean(disagreements)}
    for of_results in (_outcomes, _spread, _costs, staleness_metrics):
        figures |= of_results(results)
        yield
    for of_answers in (_replies, _changed, _latencies):
        figures |= of_answers(answers)
        yield
    figures |= yield from _repeatability(answers)
    figures |= yield from correlations_in_steps(results, answers)
    return {f"judge/{name}": value for name, value in figures.items()}


def _outcomes(results: Sequence[GroupResult]) -> dict[str, float | None]:
    """Return the rates of each status of trajectories and groups, and how many trajectories attack their judge."""
    trajectories = [trajectory for result in results for trajectory in result.trajectories]
    statuses = [trajectory.status for trajectory in trajectories]
    kinds = [{attack.kind for attack in trajectory.attacks} for trajectory in trajectories]
    return {
        "groups": len(results),
        "trajectories": len(trajectories),
        "scored_rate": _share(status == "scored" for status in statuses),
        "abstention_rate": _share(status == "abstained" for status in statuses),
        "failure_rate": _share(status == "failed" for status in statuses),
        "lost_group_rate": _share(result.status in {"abstained", "failed"} for result in results),
        "attack_rate": _share(map(bool, kinds)),
        "certain_attack_rate": _share(
            any(attack.certainty == "certain" for attack in trajectory.attacks) for trajectory in trajectories
        ),
        **{f"attacks/{kind}": sum(kind in attacked for attacked in kinds) or None for kind in get_args(AttackKind)},
    }


def _spread(results: Sequence[GroupResult]) -> dict[str, float | None]:
    """Return the metrics of the rewards: their mean, their spread within groups, and the rate of ties."""
    groups = [
        [trajectory.reward for trajectory in result.trajectories if trajectory.reward is not None] for result in results
    ]
    compared = [rewards for rewards in groups if len(rewards) > 1]
    reliabilities = [result.reliability.value for result in results if result.reliability.value is not None]
    shown = [value for result in results if (value := estimated(result.reliability)) is not None]
    stderrs = [
        trajectory.stderr for result in results for trajectory in result.trajectories if trajectory.stderr is not None
    ]
    return {
        "reward_mean": _mean([reward for rewards in groups for reward in rewards]),
        "reward_std": _mean([_deviation(rewards) for rewards in compared]),
        "tie_rate": _pairs(count for rewards in compared for count in Counter(rewards).values())
        / _pairs(map(len, compared))
        if compared
        else None,
        "flat_group_rate": _share(len(set(rewards)) == 1 for rewards in compared),
        "stderr_mean": _mean(stderrs),
        "reliability_mean": _mean(reliabilities),
        "reliability_known_rate": len(reliabilities) / len(compared) if compared else None,
        "all_noise_rate": _share(value == 0 for value in shown),
    }


def _costs(results: Sequence[GroupResult]) -> dict[str, float | None]:
    asked = [result.usage for result in results if result.attempts or result.judge_calls]
    attempts = sum(result.attempts for result in results)
    return {
        "calls_per_group": _mean([result.judge_calls for result in results]),
        "attempts_per_group": attempts / len(results) if attempts else None,
        "unusable_rate": sum(result.unusable for result in results) / attempts if attempts else None,
        "input_tokens": sum(result.usage.input_tokens for result in results),
        "output_tokens": sum(result.usage.output_tokens for result in results),
        "cached_tokens": sum(result.usage.cached_tokens for result in results),
        "cost_usd": Usage.total(asked).cost_usd if results else None,
    }


def _replies(answers: Sequence[Answer]) -> dict[str, float | None]:
    """Return how many of the judge's replies could be read, and how often a canary won."""
    shown = [answer.canary.won for answer in answers if answer.canary is not None]
    first = sum(not answer.is_follow_up for answer in answers)
    return {
        "answers": len(answers) or None,
        "cache_hit_rate": _share(answer.recorded for answer in answers),
        "parse_failure_rate": _share(answer.is_unreadable for answer in answers),
        "incomplete_rate": _share(answer.outcome == "partial" for answer in answers),
        "truncated_rate": _share(answer.truncated for answer in answers),
        "reask_rate": (len(answers) - first) / first if first else None,
        "retry_rate": _mean([answer.attempts - 1 for answer in answers]),
        "canaries": len(shown) if answers else None,
        "canary_win_rate": _share(shown),
    }


def _changed(answers: Sequence[Answer]) -> dict[str, float | None]:
    """Return the share of new answers by another model or version than any among the older ones of the same judge.

    The newest quarter of a judge's answers are the new ones. A server that alternates between versions names each of
    them among the older answers, and has changed nothing. Unknown with fewer than eight answers.
    """
    by_slot: dict[int, list[str]] = defaultdict(list)
    for answer in answers:
        if answer.served and not answer.recorded:
            by_slot[answer.slot].append(answer.served)
    changes: list[bool] = []
    for served in by_slot.values():
        new = len(served) // 4
        if new > 1:
            known = set(served[:-new])
            changes += [model not in known for model in served[-new:]]
    return {"served_change_rate": _share(changes)}


def _latencies(answers: Sequence[Answer]) -> dict[str, float | None]:
    """Return quantiles of the judge's seconds per answer, without answers from a ledger."""
    waited = sorted(answer.latency for answer in answers if answer.latency > 0 and not answer.recorded)
    return {f"latency_p{percent}": nearest_rank(waited, percent / 100) if waited else None for percent in (50, 90, 99)}


def _repeatability(answers: Sequence[Answer]) -> Steps[dict[str, float | None]]:
    """Return how much answers about the same candidates disagree: the rate of flipped pairs, and a score's noise."""
    flips: list[bool] = []
    squares, freedom = 0.0, 0
    for presentations in _by_group(answers).values():
        for a, b in combinations(presentations, 2):
            flips += _flips(a, b)
        square, degrees = _two_way_residual(presentations)
        squares, freedom = squares + square, freedom + degrees
        yield
    return {"order_flip_rate": _share(flips), "noise_sd": math.sqrt(squares / freedom) if freedom else None}


def _by_group(answers: Sequence[Answer]) -> Mapping[tuple[str, int], list[dict[int, float]]]:
    """Return scores by candidate, one mapping for each presentation of a group to one judge."""
    groups: dict[tuple[str, int], dict[int, dict[int, float]]] = defaultdict(lambda: defaultdict(dict))
    for answer in answers:
        if answer.ratings:
            values = {item: value for item, _, value in answer.ratings}
            groups[answer.group_id, answer.slot][answer.presentation].update(values)
    return {key: list(presentations.values()) for key, presentations in groups.items()}


def _flips(a: Mapping[int, float], b: Mapping[int, float]) -> Iterator[bool]:
    """Yield, for each pair of candidates that neither presentation ties, whether the two disagree on its order."""
    for first, second in combinations(sorted(a.keys() & b.keys()), 2):
        if a[first] != a[second] and b[first] != b[second]:
            yield (a[first] > a[second]) != (b[first] > b[second])


def _two_way_residual(presentations: Sequence[Mapping[int, float]]) -> tuple[float, int]:
    """Return the residual sum of squares of a two-way layout and its degrees of freedom.

    Only candidates that occur in all presentations count.
    """
    items = sorted(set.intersection(*(set(presentation) for presentation in presentations))) if presentations else []
    rows, columns = len(items), len(presentations)
    if rows < 2 or columns < 2:
        return 0.0, 0
    table = [[presentation[item] for presentation in presentations] for item in items]
    overall = sum(map(sum, table)) / (rows * columns)
    of_item = [sum(row) / columns for row in table]
    of_presentation = [sum(row[column] for row in table) / rows for column in range(columns)]
    squares = sum(
        (table[row][column] - of_item[row] - of_presentation[column] + overall) ** 2
        for row in range(rows)
        for column in range(columns)
    )
    return squares, (rows - 1) * (columns - 1)


def _pairs(counts: Iterable[int]) -> int:
    """Return the number of pairs within sets of so many."""
    return sum(count * (count - 1) // 2 for count in counts)


def _share(flags: Iterable[bool]) -> float | None:
    listed = [bool(flag) for flag in flags]
    return sum(listed) / len(listed) if listed else None


def _mean(values: Sequence[float]) -> float | None:
    return mean_of(values) if values else None


def _deviation(rewards: Sequence[float]) -> float:
    """Return the standard deviation (ddof 1) of at least two rewards; infinity if it is too large for a float."""
    values = scaled(rewards)  # squares of large rewards would overflow
    mean = sum(values) / len(values)
    deviation = math.sqrt(sum((value - mean) ** 2 for value in values) / (len(values) - 1))
    return 2.0 * math.ldexp(deviation, exponent_of(rewards) - 1)


def nearest_rank(ascending: Sequence[float], share: float) -> float:
    """Return the smallest of the ``ascending`` values, at least one, that is not below a ``share`` (0-1) of them."""
    return ascending[max(0, math.ceil(share * len(ascending)) - 1)]


METRICS: Final = frozenset(run_steps(_figures_in_steps((), (), ())))
