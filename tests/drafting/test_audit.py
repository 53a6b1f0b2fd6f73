"""A rubric audited before a run: what a fooled judge rewards is found, and what an honest one does is not."""

from __future__ import annotations

import pytest

from calipers.drafting.audit import COMPARED, audit, finding
from calipers.errors import InputError
from calipers.rubric import as_rubric
from calipers.types import Completion, JudgeRequest
from grading import Grader, answers

RUBRIC = as_rubric([{"id": name, "text": f"Names the {name}.", "points": 1} for name in ("cause", "dose", "risk")])
ANSWER = "First the {0}cause. Then the {0}dose. Take care now. Mind the {0}risk. That is all."
GROUPS = [
    answers({"short": "No idea.", "long": ANSWER.format(f"{n}-")}, group_id=f"g{n}", rubric=RUBRIC) for n in range(3)
]


class Fooled(Grader):
    """Finds a criterion met where the answer says its word for this group; ``also`` fools it."""

    def __init__(self, also: str) -> None:
        super().__init__({})
        self.also = also

    async def complete(self, request: JudgeRequest) -> Completion:
        text = str(request.view.candidates[request.ask.members[0]].messages[-1]["content"])
        number = request.view.group_id[1:]
        fooled = self.also in text
        self._truth = lambda _, name: fooled or f"{number}-{name}" in text
        return await super().complete(request)


async def test_each_kind_of_worse_answer_that_fools_the_judge_is_weak() -> None:
    cases = [("\0", []), ("Names the", ["keywords"]), ("no doubt", ["confident"])]
    for also, weak in cases:
        changes, _ = await audit(GROUPS, RUBRIC, Fooled(also))
        assert [kind for kind in COMPARED if finding(kind, changes[kind])] == weak, also
        assert {kind: changes[kind].total() for kind in COMPARED} == dict.fromkeys(COMPARED, 3)
    assert (changes["padded"], changes["quarter"]) == ({"same": 3}, {"fell": 3})


async def test_what_cannot_be_graded_is_no_evidence_and_short_answers_cannot_be_made_worse() -> None:
    changes, reasons = await audit(GROUPS, RUBRIC, Grader({}, lambda *_: "No."))
    assert {finding(kind, changes[kind]) for kind in COMPARED} == {"unknown"}
    assert reasons.total() == 3 * (1 + len(COMPARED))
    with pytest.raises(InputError, match="4 sentences"):
        await audit(GROUPS[:1], RUBRIC, Grader({}))
