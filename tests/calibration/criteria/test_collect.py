"""A judge asked about labelled criteria, in the form of a verdicts file."""

from calipers.calibration.criteria import Labelled, meta_evaluate
from calipers.calibration.criteria.collect import collect_verdicts
from calipers.errors import PermanentError
from calipers.types import Completion, JudgeRequest
from grading import Grader

PROMPT = ({"role": "user", "content": "Is it catching?"},)
ROWS = [
    Labelled(line, PROMPT, completion, rubric, (label, label), ("p1", "p2"), "a")
    for line, completion, rubric, label in [
        (1, "Yes, very.", "Says whether.", True),
        (2, "Perhaps.", "Says whether.", False),
        (4, "Yes, very.", "Is polite.", False),
    ]
]
TRUTH = {"1": True, "2": False, "4": True}


async def test_every_row_has_a_verdict_in_the_order_of_rows() -> None:
    grader = Grader(lambda _, criterion: TRUTH[criterion])
    asked = await collect_verdicts(ROWS, grader)
    assert [(one["line"], one["met"]) for one in asked.judgments] == [(1, True), (4, True), (2, False)]
    assert len(grader.asked) == 3
    assert all("Is it catching?" in str(request.messages) for request in grader.asked)
    (judge,) = meta_evaluate(ROWS, asked.judgments).judges
    assert (judge.judge, judge.graded, judge.overall.precision_met) == ("Grader", 3, 0.5)
    assert asked.spent().calls == 3


async def test_a_grading_puts_the_criteria_of_a_completion_together() -> None:
    grader = Grader(lambda _, criterion: TRUTH[criterion])
    await collect_verdicts(ROWS, grader, grading={"mode": "all"}, samples=2)
    assert sorted(request.ask.criteria for request in grader.asked) == [("1", "4"), ("1", "4"), ("2",), ("2",)]


async def test_samples_are_verdicts_of_their_own() -> None:
    def moody(_: object, request: JudgeRequest, __: int) -> str | None:
        return '{"1": {"reason": "", "met": false}}' if request.ask.sample else None

    asked = await collect_verdicts(ROWS[:1], Grader(lambda *_: True, moody), samples=2)
    assert [(one["sample_index"], one["met"]) for one in asked.judgments] == [(0, True), (1, False)]


class Down:
    """A judge that never answers."""

    endpoint, model = "down", "down"

    async def complete(self, request: JudgeRequest) -> Completion:
        raise PermanentError("refused", "it will not")


async def test_what_cannot_be_decided_is_not_available_with_its_reason() -> None:
    asked = await collect_verdicts(ROWS, Down())
    assert {(one["met"], one["reason"]) for one in asked.judgments} == {(None, "it will not")}
    (judge,) = meta_evaluate(ROWS, asked.judgments).judges
    assert (judge.graded, judge.ungraded, judge.overall.balanced_f1) == (0, 3, None)
