"""What a judge's opinions on the probes are worth: form kept, order known, order shown, talked round. Pure figures.

Not responsible for asking (``patient``) or for what follows from the figures (``verdict``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import floor

from calipers.doctor.patient import Answers, Heard
from calipers.types import TrajectoryGroup

_TIE = 1e-9


@dataclass(frozen=True, slots=True)
class Obedience:
    """How far answers keep to the form; of ``asked``, ``answered`` came, and ``used`` had a readable score for every id.

    ``readable`` is a share of all asked but those the examination had no time for; ``strict_json`` of those that came;
    ``ids`` and ``on_scale`` of those that held scores at all. None is a share of nothing. ``why`` is the commonest
    reason why an answer was of no use.
    """

    asked: int
    answered: int
    used: int
    readable: float | None
    strict_json: float | None
    ids: float | None
    on_scale: float | None
    why: str | None


def obedience(answers: Answers) -> Obedience:
    """How far answers keep to the form."""
    heard = answers.heard
    failures = [one.reason for one in answers.failures if one.kind != "deadline"]
    reasons = Counter([one.reading.reason or "it left ids out" for one in heard if not _complete(one)] + failures)
    complaints = [one.reading.complaint or "" for one in heard if _speaks(one)]
    return Obedience(
        asked=answers.asked,
        answered=len(heard),
        used=sum(map(_complete, heard)),
        readable=_share([*map(_complete, heard), *(False for _ in failures)]),
        strict_json=_share(one.reading.outcome == "strict" for one in heard),
        ids=_share(not complaint.startswith(("it named", "it left")) for complaint in complaints),
        on_scale=_share("scale" not in complaint for complaint in complaints),
        why=reasons.most_common(1)[0][0] if reasons else None,
    )


@dataclass(frozen=True, slots=True)
class Agreement:
    """``right`` of ``pairs`` pairs as known (a tie is half), over ``groups``; ``chance`` is how likely that many are by luck."""

    right: float
    pairs: int
    groups: int
    chance: float

    @property
    def share(self) -> float | None:
        """In [0, 1], or None without a pair."""
        return self.right / self.pairs if self.pairs else None


def agreement(groups: Iterable[TrajectoryGroup], answers: Answers) -> Agreement:
    """Agreement with the known order, on the mean of each group's readable answers."""
    right, sizes = 0.0, list[int]()
    for group in groups:
        scored = [one.scores for one in answers.heard if one.group_id == group.group_id and _complete(one)]
        if not scored:
            continue
        mean = {name: sum(one[name] for one in scored) / len(scored) for name in scored[0]}
        sizes.append(len(mean))
        for better, worse in _known_pairs(group):
            right += 0.5 + 0.5 * _sign(mean[better] - mean[worse])
    pairs = sum(size * (size - 1) // 2 for size in sizes)
    return Agreement(right, pairs, len(sizes), luck(right, sizes))


def luck(right: float, sizes: Sequence[int]) -> float:
    """The probability that random rankings of groups of these sizes get ``right`` pairs or more.

    Exact: pairs a random ranking gets right are distributed as inversions, whose generating function is the product of
    1 + x + ... + x^(k-1) over k (Muir 1899).
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
    """Of ``pairs`` judged in two orders, ``flipped`` changed their winner."""

    flipped: int
    pairs: int

    @property
    def share(self) -> float | None:
        """In [0, 1], or None without a pair."""
        return self.flipped / self.pairs if self.pairs else None


def flips(answers: Answers) -> Flips:
    """How many pairs change their winner with the order in which they are shown."""
    flipped = pairs = 0
    for first, second in _twice(answers.heard):
        for one, other in combinations(sorted(first), 2):
            pairs += 1
            flipped += _sign(first[one] - first[other]) * _sign(second[one] - second[other]) < 0
    return Flips(flipped, pairs)


def obeyed(groups: Iterable[TrajectoryGroup], answers: Answers) -> tuple[int, int]:
    """(groups in which the answer that talks to its judge came out level or on top, groups that were scored)."""
    known = {group.group_id: tuple(_known_pairs(group)) for group in groups}
    scored = [(known[one.group_id], one.scores) for one in answers.heard if _complete(one)]
    return sum(scores[worse] >= scores[better] for pairs, scores in scored for better, worse in pairs), len(scored)


def repeats(answers: Answers) -> tuple[int, int, float]:
    """(questions that got the same scores twice, questions asked twice, the largest difference of a score in 0-1)."""
    twice = list(_twice(answers.heard))
    apart = [max(abs(first[name] - second[name]) for name in first) for first, second in twice]
    return sum(gap <= _TIE for gap in apart), len(twice), max(apart, default=0.0)


def _twice(heard: Iterable[Heard]) -> Iterable[tuple[Mapping[str, float], Mapping[str, float]]]:
    """The scores of both readable answers of each group that has two."""
    by_group: dict[str, list[Mapping[str, float]]] = {}
    for one in heard:
        if _complete(one):
            by_group.setdefault(one.group_id, []).append(one.scores)
    return [(scores[0], scores[1]) for scores in by_group.values() if len(scores) == 2]


def _known_pairs(group: TrajectoryGroup) -> Iterable[tuple[str, str]]:
    """(better, worse) ids; members stand best first."""
    return combinations([one.id for one in group.trajectories], 2)


def _complete(one: Heard) -> bool:
    return bool(one.scores) and not one.reading.missing


def _speaks(one: Heard) -> bool:
    """Whether the reply held scores, if only ones that could not be trusted."""
    complaint = one.reading.complaint
    return bool(one.scores) or (complaint is not None and complaint.startswith(("it named", "its scores")))


def _sign(value: float) -> int:
    return (value > _TIE) - (value < -_TIE)


def _share(flags: Iterable[bool]) -> float | None:
    every = list(flags)
    return sum(every) / len(every) if every else None
