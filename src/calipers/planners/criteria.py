"""First asks about criteria: all of a trajectory's at once, one by one, some at a time, or one for all trajectories.

Not responsible for how a question looks (``protocols.checklist``), nor for what to do with poor answers
(``follow_ups``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from calipers.errors import ConfigError
from calipers.planners.first_asks import Presentations, cause_of, numbered, rotated, shuffled
from calipers.rubric import Grading
from calipers.rubric.formulas import left_to_judge
from calipers.types import Ask, Criterion, PlanState


@dataclass(frozen=True, slots=True)
class Criteria(Presentations):
    """Plan ``orders * samples`` gradings of the group; the asks of one grading share ``Ask.presentation``.

    Only relative grading shows several candidates, and so only it has orders: a seeded permutation, then its reverse,
    then the list rotated, as in listwise judging. Candidates without criteria are not asked about. Raises ConfigError
    for orders in another mode.
    """

    grading: Grading = field(default_factory=Grading)

    def __post_init__(self) -> None:
        if self.orders > 1 and self.grading.mode != "relative":
            raise ConfigError(
                f"orders={self.orders}: only relative grading shows candidates in an order; use samples= instead"
            )

    def presentation(self, state: PlanState, index: int) -> Sequence[Ask]:
        """The asks of one grading, numbered from 0."""
        order, sample = divmod(index, self.samples)
        base = Ask(0, (), (), sample=sample, cause=cause_of(order, sample), presentation=index)
        asks = self._relative(state, base, order) if self.grading.mode == "relative" else self._single(state, base)
        return numbered(asks, 0)

    def _single(self, state: PlanState, base: Ask) -> Iterator[Ask]:
        """One candidate in a question, with as many of its criteria as the mode says."""
        for item, rubric in enumerate(state.view.rubrics):
            if rubric is None:
                continue
            if self.grading.mode == "holistic":
                yield replace(base, members=(item,), order=(item,))
                continue
            names = [criterion.id for criterion in self._open(state, item)]
            size = {"per_criterion": 1, "chunks": self.grading.chunk}.get(self.grading.mode, max(len(names), 1))
            for start in range(0, len(names), size):
                yield replace(base, members=(item,), order=(item,), criteria=tuple(names[start : start + size]))

    def _open(self, state: PlanState, item: int) -> Sequence[Criterion]:
        """The criteria of a candidate that are left to the judge."""
        rubric, checked = state.view.rubrics[item], state.view.rule_verdicts
        return () if rubric is None else left_to_judge(rubric, checked[item] if checked else {}, self.grading)

    def _relative(self, state: PlanState, base: Ask, order: int) -> Iterator[Ask]:
        """One question about each criterion, with all candidates that have it."""
        asked: dict[str, tuple[Criterion, list[int]]] = {}
        for item in rotated(shuffled(state), order):
            for criterion in self._open(state, item):
                # The same id may mean another thing in another trajectory's rubric.
                asked.setdefault(f"{criterion.id}\n{criterion}", (criterion, []))[1].append(item)
        for criterion, items in asked.values():
            yield replace(base, members=tuple(sorted(items)), order=tuple(items), criteria=(criterion.id,))
