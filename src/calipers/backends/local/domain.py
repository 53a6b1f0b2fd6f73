"""Which groups a local judge may judge: those like the groups it was trained on. For others it abstains."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final

import numpy as np

from calipers.backends.local.features import LENGTH, MeasuredGroup

_ROOM: Final = 0.7
"""How far the mean log length of a group may be beyond the training groups': a factor of two."""


@dataclass(frozen=True, slots=True)
class Domain:
    """What a local judge's training groups were like.

    ``scripts`` are those of their tasks, ``tools`` whether candidates called tools in some (True) and in none (False).
    ``shortest`` and ``longest`` bound the mean of log(words + 1) over a group's answers. ``terms`` are hashes of the
    stems in their tasks, and ``familiar`` is the least share of a task's stems that has to be among them.
    """

    scripts: frozenset[str]
    tools: frozenset[bool]
    shortest: float
    longest: float
    terms: frozenset[int]
    familiar: float

    def why_outside(self, group: MeasuredGroup) -> str | None:
        """Return why a local judge must not judge a group, in words, or None if it may."""
        if group.script not in self.scripts and group.script:
            return f"the task is written in another script ({group.script}) than those it was trained on"
        if group.has_tools not in self.tools:
            calls = "call tools" if group.has_tools else "call no tools"
            return f"the candidates {calls}, unlike those that it learned from"
        length = mean_length(group)
        if not self.shortest - _ROOM <= length <= self.longest + _ROOM:
            return f"the answers are much {'longer' if length > self.longest else 'shorter'} than those it learned from"
        known = familiarity(group.task_terms, self.terms)
        if known < self.familiar:
            return f"only {known:.0%} of the task's words occur in the tasks that it learned from"
        return None


def mean_length(group: MeasuredGroup) -> float:
    """Return the mean of log(words + 1) over the answers of a local judge's group."""
    return float(group.values[:, LENGTH].mean()) if len(group.values) else 0.0


def familiarity(terms: AbstractSet[int], known: AbstractSet[int]) -> float:
    """Return the share of a task's stems that a local judge knows; 1 for a task without words."""
    return len(terms & known) / len(terms) if terms else 1.0


def learn_domain(groups: Sequence[MeasuredGroup], held_out: Sequence[float]) -> Domain:
    """Return the domain of a local judge's training groups.

    ``held_out`` are the familiarities of their tasks, each to the tasks of other folds. A task as unfamiliar as the one
    in a hundred that is least familiar is outside.
    """
    lengths = [mean_length(one) for one in groups]
    terms: set[int] = set()
    for one in groups:
        terms |= one.task_terms
    return Domain(
        scripts=frozenset(one.script for one in groups),
        tools=frozenset(one.has_tools for one in groups),
        shortest=float(np.percentile(lengths, 0.5)),
        longest=float(np.percentile(lengths, 99.5)),
        terms=frozenset(terms),
        familiar=float(np.percentile(held_out, 1)) if len(held_out) else 0.0,
    )
