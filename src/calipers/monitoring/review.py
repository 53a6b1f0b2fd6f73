"""Collect groups that people should review during training: the most disputed, and those with prompt injections."""

from __future__ import annotations

import heapq
import json
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from calipers.config.arguments import require_above_zero, require_whole
from calipers.types import GroupResult, TrajectoryGroup

Reason: TypeAlias = Literal["disputed", "injected"]


@dataclass(frozen=True, slots=True)
class _Entry:
    weight: float
    group: TrajectoryGroup
    result: GroupResult
    audit: Mapping[str, float | None]


class ReviewQueue:
    """Stores the ``each`` groups of greatest weight for every reason to review them; ``write`` writes a groups file.

    The weight is the audit's disagreement (disputed) or the number of attacks (injected). Safe to use from several
    threads.
    """

    def __init__(self, *, each: int = 20) -> None:
        require_whole(each=each)
        require_above_zero(each=each)
        self._each = each
        self._lock = threading.Lock()
        self._heaps: dict[Reason, list[tuple[float, int, _Entry]]] = {reason: [] for reason in get_args(Reason)}
        self._numbers = count()

    def seen(self, group: TrajectoryGroup, result: GroupResult) -> GroupResult:
        """Add a finished group to the review queue if its weight suffices, and return its result unchanged."""
        attacks = sum(len(trajectory.attacks) for trajectory in result.trajectories)
        if attacks:
            self._add("injected", _Entry(float(attacks), group, result, {}))
        return result

    def disputed(
        self, group: TrajectoryGroup, result: GroupResult, audit: Mapping[str, float | None], *, by: float
    ) -> None:
        """Add an audited group to the review queue if its weight suffices.

        ``by`` is the disagreement (0-1), ``audit`` the audit's scores.
        """
        self._add("disputed", _Entry(by, group, result, audit))

    def write(self, path: str | Path) -> int:
        """Write the groups of the review queue to a groups file (JSONL), greatest weight first within each reason, and
        return their number.

        Each line is the group with a key ``review``: the reasons with their weights, the rewards, attacks, and the
        audit's scores, if any. The queue does not change.
        """
        with self._lock:
            ordered = [
                (reason, entry) for reason, heap in self._heaps.items() for _, _, entry in sorted(heap, reverse=True)
            ]
        together: dict[int, list[tuple[Reason, _Entry]]] = {}
        for reason, entry in ordered:
            together.setdefault(id(entry.result), []).append((reason, entry))
        seen: Counter[str] = Counter()
        lines = []
        for entries in together.values():
            name = entries[0][1].group.group_id
            seen[name] += 1  # a prompt may return in another epoch, but ids of a groups file are unique
            lines.append(_review_line(name if seen[name] == 1 else f"{name}~{seen[name]}", entries))
        Path(path).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        return len(lines)

    def _add(self, reason: Reason, entry: _Entry) -> None:
        with self._lock:
            # Of two groups with equal weight the newer stays, because it shows what the policy does now.
            item = (entry.weight, next(self._numbers), entry)
            heap = self._heaps[reason]
            if len(heap) < self._each:
                heapq.heappush(heap, item)
            else:
                heapq.heappushpop(heap, item)


def _review_line(name: str, entries: Sequence[tuple[Reason, _Entry]]) -> str:
    first = entries[0][1]
    review: dict[str, Any] = {
        "reasons": {reason: round(entry.weight, 4) for reason, entry in entries},
        "rewards": {trajectory.id: trajectory.reward for trajectory in first.result.trajectories},
    }
    for _, entry in entries:
        review |= {"audit": dict(entry.audit)} if entry.audit else {}
    attacks = {
        trajectory.id: [hit.to_dict() for hit in trajectory.attacks]
        for trajectory in first.result.trajectories
        if trajectory.attacks
    }
    review |= {"attacks": attacks} if attacks else {}
    return json.dumps({**first.group.to_dict(), "group_id": name, "review": review})
