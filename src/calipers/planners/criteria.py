"""First questions about criteria: some or all criteria of a trajectory, or one criterion of all trajectories."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from calipers.errors import ConfigError
from calipers.planners.first_asks import Presentations, cause_of_ask, rotated_order, shuffled_candidates
from calipers.rubric import Grading
from calipers.rubric.formulas import criteria_for_judge
from calipers.types import Ask, Criterion, PlanState


@dataclass(frozen=True, slots=True)
class Criteria(Presentations):
    """Plans ``orders * samples`` gradings of the group. The asks of one grading share ``Ask.presentation``.

    Only relative grading shows several candidates, and so only relative grading has orders: a seeded permutation, then
    its reverse, then the list rotated, as in listwise judging. Candidates without criteria are not asked about. Raises
    ConfigError for ``orders`` above 1 in another mode.
    """

    grading: Grading = field(default_factory=Grading)

    def __post_init__(self) -> None:
        if self.orders > 1 and self.grading.mode != "relative":
            raise ConfigError(
                f"orders={self.orders}: only relative grading shows candidates in an order; use samples= instead"
            )

    def presentation(self, state: PlanState, index: int) -> Sequence[Ask]:
        """Plan the questions of grading ``index``."""
        order, sample = divmod(index, self.samples)
        base = Ask(index, (), (), sample=sample, cause=cause_of_ask(order, sample), presentation=index)
        return list(
            self._relative_asks(state, base, order)
            if self.grading.mode == "relative"
            else self._asks_about_one(state, base)
        )

    def _asks_about_one(self, state: PlanState, base: Ask) -> Iterator[Ask]:
        """Plan questions about one candidate each, with as many of its criteria as the grading mode says."""
        for item, rubric in enumerate(state.view.rubrics):
            if rubric is None:
                continue
            names = [criterion.id for criterion in self._criteria_for_judge(state, item)]
            size = {"per_criterion": 1, "chunks": self.grading.chunk}.get(self.grading.mode, max(len(names), 1))
            for start in range(0, len(names), size):
                yield replace(base, members=(item,), order=(item,), criteria=tuple(names[start : start + size]))

    def _criteria_for_judge(self, state: PlanState, item: int) -> Sequence[Criterion]:
        """Return the criteria of a candidate that the judge has to decide."""
        rubric, checked = state.view.rubrics[item], state.view.rule_verdicts
        return () if rubric is None else criteria_for_judge(rubric, checked[item] if checked else {}, self.grading)

    def _relative_asks(self, state: PlanState, base: Ask, order: int) -> Iterator[Ask]:
        """Plan one question about each criterion, which shows all candidates that have this criterion."""
        asked: dict[str, tuple[Criterion, list[int]]] = {}
        for item in rotated_order(shuffled_candidates(state), order):
            for criterion in self._criteria_for_judge(state, item):
                # The same id may stand for a different criterion in another trajectory's rubric.
                asked.setdefault(f"{criterion.id}\n{criterion}", (criterion, []))[1].append(item)
        for criterion, items in asked.values():
            yield replace(base, members=tuple(sorted(items)), order=tuple(items), criteria=(criterion.id,))
