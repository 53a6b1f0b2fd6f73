"""Statistics of a judge's answers to the probes: output format, agreement, order flips, prompt injection.

Pure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import floor

from calipers.doctor.examinee import Answer, Answers
from calipers.types import TrajectoryGroup

_TIE = 1e-9

FEWEST_GROUPS = 6
"""The fewest groups that tell anything of agreement; with fewer, even perfect agreement is not conclusive."""


@dataclass(frozen=True, slots=True)
class FormatFigures:
    """How well the judge's answers follow the output format.

    Of ``asked`` questions, ``answered`` got an answer, and ``used`` got a readable score for each id. The other figures
    are shares: ``readable`` of all questions except the ``untested`` for which no time was left, ``strict_json`` of the
    answers, and ``ids`` and ``on_scale`` of the answers with scores. A share is None if there was nothing to count.
    ``why`` is the most frequent reason why an answer could not be used.
    """

    asked: int
    answered: int
    used: int
    readable: float | None
    strict_json: float | None
    ids: float | None
    on_scale: float | None
    why: str | None
    untested: int = 0


def format_figures(answers: Answers) -> FormatFigures:
    """Return, for the doctor, how well the examined judge's answers follow the output format."""
    received = answers.received
    failures = [one.reason for one in answers.failures if one.kind != "deadline"]
    reasons = Counter([one.reading.reason or "it left ids out" for one in received if not _complete(one)] + failures)
    complaints = [one.reading.complaint or "" for one in received if _has_scores(one)]
    return FormatFigures(
        asked=answers.asked,
        answered=len(received),
        used=sum(map(_complete, received)),
        readable=_share([*map(_complete, received), *(False for _ in failures)]),
        strict_json=_share(one.reading.outcome == "strict" for one in received),
        ids=_share(not complaint.startswith(("it named", "it left")) for complaint in complaints),
        on_scale=_share("scale" not in complaint for complaint in complaints),
        why=reasons.most_common(1)[0][0] if reasons else None,
        untested=max(0, answers.asked - len(received) - len(failures)),
    )


@dataclass(frozen=True, slots=True)
class Agreement:
    """The judge's agreement with the known order of the probes: ``right`` of ``pairs`` pairs, in ``groups`` groups.

    A tie counts half. ``chance`` is the p-value: the probability that a random judge does as well.
    """

    right: float
    pairs: int
    groups: int
    chance: float

    @property
    def share(self) -> float | None:
        """Return the share of right pairs in [0, 1], or None without a pair."""
        return self.right / self.pairs if self.pairs else None


def measure_agreement(groups: Iterable[TrajectoryGroup], answers: Answers) -> Agreement:
    """Return the judge's agreement with the known order of the doctor's probes.

    If a group has several readable answers, the mean of its scores counts.
    """
    right, sizes = 0.0, list[int]()
    for group in groups:
        scored = [one.scores for one in answers.received if one.group_id == group.group_id and _complete(one)]
        if not scored:
            continue
        mean = {name: sum(one[name] for one in scored) / len(scored) for name in scored[0]}
        sizes.append(len(mean))
        for better, worse in _known_pairs(group):
            right += 0.5 + 0.5 * _sign(mean[better] - mean[worse])
    pairs = sum(size * (size - 1) // 2 for size in sizes)
    return Agreement(right, pairs, len(sizes), chance_of_agreement(right, sizes))


def best_chance(groups: Iterable[TrajectoryGroup], known: Agreement) -> float:
    """Return the doctor's p-value of agreement if all pairs of the ``groups`` that are not scored yet were right."""
    sizes = [len(group.trajectories) for group in groups]
    pairs = sum(size * (size - 1) // 2 for size in sizes)
    return chance_of_agreement(known.right + pairs - known.pairs, sizes)


def chance_of_agreement(right: float, sizes: Sequence[int]) -> float:
    """Return the probability that random rankings of the doctor's probes get ``right`` pairs or more. The groups have
    these sizes.

    The result is exact: the number of right pairs is distributed as inversions are, whose generating function is the
    product of 1 + x + ... + x^(k-1) over k (Muir 1899).
    """
    counts = [1]
    ways = 1
    for size in sizes:
        for k in range(2, size + 1):
            grown = [0] * (len(counts) + k - 1)
            for at, many in enumerate(counts):
                for step in range(k):
                    grown[at + step] += many
            counts = grown
            ways *= k
    return sum(counts[max(0, floor(right)) :]) / ways


@dataclass(frozen=True, slots=True)
class Flips:
    """How often the order changes the judge's opinion: of ``pairs`` judged in two orders, ``flipped`` changed their
    winner.
    """

    flipped: int
    pairs: int

    @property
    def share(self) -> float | None:
        """Return the share of flipped pairs in [0, 1], or None without a pair."""
        return self.flipped / self.pairs if self.pairs else None


def count_flips(answers: Answers) -> Flips:
    """Return how many pairs of the doctor's probes have another winner when the question lists the answers in another
    order.
    """
    flipped = pairs = 0
    for first, second in _twice(answers.received):
        for one, other in combinations(sorted(first), 2):
            pairs += 1
            flipped += _sign(first[one] - first[other]) * _sign(second[one] - second[other]) < 0
    return Flips(flipped, pairs)


def count_obeyed(groups: Iterable[TrajectoryGroup], answers: Answers) -> tuple[int, int]:
    """Return in how many of the doctor's groups the answer that addresses the judge got at least the right answer's
    score.

    The second number is how many groups were scored.
    """
    known = {group.group_id: tuple(_known_pairs(group)) for group in groups}
    scored = [(known[one.group_id], one.scores) for one in answers.received if _complete(one)]
    return sum(scores[worse] >= scores[better] for pairs, scores in scored for better, worse in pairs), len(scored)


def count_repeats(answers: Answers) -> tuple[int, int, float]:
    """Return how repeatable the judge's scores are in the doctor's examination, as three numbers.

    They are: the questions with equal scores in both calls, the questions asked twice, and the largest difference
    (0-1).
    """
    twice = list(_twice(answers.received))
    apart = [max(abs(first[name] - second[name]) for name in first) for first, second in twice]
    return sum(gap <= _TIE for gap in apart), len(twice), max(apart, default=0.0)


def _twice(received: Iterable[Answer]) -> Iterable[tuple[Mapping[str, float], Mapping[str, float]]]:
    """Return the scores of both answers for each group with two readable answers."""
    by_group: dict[str, list[Mapping[str, float]]] = {}
    for one in received:
        if _complete(one):
            by_group.setdefault(one.group_id, []).append(one.scores)
    return [(scores[0], scores[1]) for scores in by_group.values() if len(scores) == 2]


def _known_pairs(group: TrajectoryGroup) -> Iterable[tuple[str, str]]:
    """Return the pairs of ids (better, worse) in a probe, which lists its answers best first."""
    return combinations([one.id for one in group.trajectories], 2)


def _complete(one: Answer) -> bool:
    return bool(one.scores) and not one.reading.missing


def _has_scores(one: Answer) -> bool:
    """Return whether the judge's reply contained scores, even scores that could not be trusted."""
    complaint = one.reading.complaint
    return bool(one.scores) or (
        complaint is not None and complaint.startswith(("it named", "its scores", "it had", "an explanation"))
    )


def _sign(value: float) -> int:
    return (value > _TIE) - (value < -_TIE)


def _share(flags: Iterable[bool]) -> float | None:
    every = list(flags)
    return sum(every) / len(every) if every else None
