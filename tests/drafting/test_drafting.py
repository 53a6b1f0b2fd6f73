"""Rubrics drafted by a judge: proposed, merged, measured, and only the useful kept."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.drafting import draft
from calipers.drafting.criteria import Measured, measure_criterion, merge_proposals, rubric_toml
from calipers.errors import InputError
from calipers.ledger import Ledger
from calipers.replies.proposed import ProposedCriterion
from calipers.rubric import as_rubric
from calipers.types import Completion, Criterion, GroupResult, JudgeRequest, TrajectoryResult
from grading import Grader, answers

GROUPS = [answers({"a": f"Rest {n}.", "b": f"Antibiotics {n}."}, group_id=f"g{n}") for n in range(3)]
PROPOSED = [
    {"text": "Suggests rest to the user.", "points": 5},
    {"text": "Prescribes antibiotics.", "points": -6},
    {"text": "Is written in English.", "points": 1},
    {"text": "Has a pleasant tone throughout.", "points": 2},
]


class Drafter(Grader):
    """Proposes, and grades by what is in the answer; cannot make up its mind about tone."""

    def __init__(self) -> None:
        super().__init__({})
        self.proposing: list[JudgeRequest] = []

    async def complete(self, request: JudgeRequest) -> Completion:
        if "criteria" in (request.schema or {})["properties"]:
            self.proposing.append(request)
            return Completion("Here you are:\n```json\n" + json.dumps({"criteria": PROPOSED}) + "\n```")
        self.asked.append(request)
        system, shown = (str(message["content"]) for message in request.messages)
        met = ("Rest" in shown, "Antibiotics" in shown, True, request.ask.sample == 0)
        said = dict(zip((one["text"] for one in PROPOSED), met, strict=True))
        lines = [line.partition(". ") for line in system.splitlines() if line[:1].isdigit()]
        return Completion(json.dumps({number: {"met": said[text]} for number, _, text in lines}))


async def test_what_tells_trajectories_apart_twice_is_kept_and_the_rest_is_told(tmp_path: Path) -> None:
    ledger = Ledger(str(tmp_path / "d.db"))
    judge = Drafter()
    found = await draft(GROUPS, judge, ledger=ledger, max_tokens=100)
    kept, dropped = ([one.criterion.text for one in part] for part in (found.kept, found.dropped))
    assert kept + dropped == [one["text"] for one in PROPOSED]
    assert ["never separates" in str(figures.fault()) for figures in found.dropped] == [True, True]
    assert (found.proposed, len(judge.proposing), len(judge.asked)) == (12, 3, 12)
    written = rubric_toml(found.kept, found.dropped, title="x")
    system, user = (str(message["content"]) for message in judge.proposing[0].messages)
    assert ("at most 12 criteria" in system, "Antibiotics 0." in user, judge.proposing[0].max_tokens) == (
        True,
        True,
        100,
    )
    rubric = as_rubric(tomllib.loads(written))
    assert [(one.text, one.points) for one in rubric.criteria] == [(kept[0], 5), (kept[1], -6)]
    assert "# proposed for 3 groups; met by 50%; separates 100% of groups; agrees with itself 100%" in written
    again = Drafter()
    assert await draft(GROUPS, again, ledger=ledger, max_tokens=100) == found
    assert again.proposing == again.asked == []
    ledger.close()


async def test_groups_that_cannot_test_anything_are_refused() -> None:
    with pytest.raises(InputError, match="two different trajectories"):
        await draft([answers({"a": "Rest.", "b": "Rest."})], Drafter())


async def test_a_judge_that_proposes_nothing_is_named_as_the_reason() -> None:
    class Silent(Grader):
        async def complete(self, request: JudgeRequest) -> Completion:
            return next(replies)

    nothing = '{"criteria": [{"text": "Good.", "points": "five"}, {"text": " ", "points": 1}]}'
    replies = iter([*map(Completion, (nothing, "<think>endless")), Completion("", finish_reason="refused")])
    with pytest.raises(
        InputError, match=r"the reply holds no criteria .*\(2 of 3 groups\); the judge refused .*\(1 of"
    ):
        await draft(GROUPS, Silent({}))


def merged(most: int, *said: tuple[str, float, str]) -> list[tuple[str, float, int]]:
    """The texts of the merged proposals with their points and how many groups proposed them."""
    found = merge_proposals([(group, ProposedCriterion(text, points)) for text, points, group in said], most)
    assert len({criterion.id for criterion, _ in found}) == len(found)
    return [(criterion.text, criterion.points, groups) for criterion, groups in found]


def test_the_same_in_other_words_is_one_criterion_with_the_median_of_points_and_opposites_stay_apart() -> None:
    assert merged(
        9,
        ("Cites the page of the manual.", 3, "g1"),
        ("The agent cites a manual page.", 7, "g2"),
        ("Cites the manual's page", 4, "g3"),
        ("Blames the customer.", -4, "g1"),
    ) == [("Cites the page of the manual.", 4, 3), ("Blames the customer.", -4, 1)]
    amount = "Confirms the refund amount."
    opposites = [(amount, 3, "g1"), (amount, -3, "g2"), ("Does not confirm the refund amount.", 3, "g3")]
    assert len(merged(9, *opposites)) == 3


@given(st.lists(st.tuples(st.text(max_size=30), st.sampled_from([1.0, -2.0]), st.sampled_from("ab")), max_size=12),
       st.integers(1, 5))  # fmt: skip
def test_merging_keeps_within_the_limit_and_the_ids_distinct(said: list[tuple[str, float, str]], most: int) -> None:
    assert len(merged(most, *said)) <= most


def graded(group: str, votes: dict[str, list[bool | None]]) -> GroupResult:
    members = tuple(
        TrajectoryResult(name, "scored", extra={"criteria": {"c": {"met": own[0], "reason": "", "votes": own}}})
        for name, own in votes.items()
    )
    return GroupResult(group, "scored", members)


def test_figures_are_counted_over_groups_trajectories_and_verdicts() -> None:
    results = [
        graded("g1", {"a": [True, True], "b": [False, False]}),
        graded("g2", {"a": [True, False], "b": [True, None]}),
    ]
    gold = {("g1", "a"): 1.0, ("g1", "b"): 0.2, ("g2", "a"): 0.5, ("g2", "b"): 0.4}
    for points, right in ((3.0, 1.0), (-3.0, 0.0)):
        criterion = Criterion("c", "x", points)
        found = measure_criterion(criterion, 2, results, gold)
        assert found == Measured(criterion, 2, 0.5, 2 / 3, 7 / 8, 4 / 7, right, 1)


def test_a_useless_criterion_is_told_by_its_figures() -> None:
    cases = {
        (0.5, 0.9, 1.0, 0.5): "", (0.5, None, 1.0, 0.5): "", (0.5, 0.9, 1.0, 0.5, 0.0, 2): "",
        (0.0, 1.0, 1.0, 1.0): "never separates", (None, None, 1.0, 1.0): "never separates",
        (0.5, 0.6, 1.0, 0.5): "agrees with itself on 60%",
        (0.5, 0.9, 0.5, 0.5): "only 50% of its verdicts",
        (0.5, 0.9, 1.0, 0.5, 0.2, 10): "wrong way in 80% of 10 pairs",
    }  # fmt: skip
    found = {figures: Measured(Criterion("c", "x"), 1, *figures).fault() or "" for figures in cases}  # type: ignore[arg-type]  # shares
    assert [one for one, fault in cases.items() if fault not in found[one] or bool(fault) != bool(found[one])] == []


@given(st.text(min_size=1, max_size=40).filter(str.strip), st.text(max_size=30), st.sampled_from([-2.0, 2.5]))
def test_whatever_a_judge_writes_the_file_stays_toml(text: str, title: str, points: float) -> None:
    ((criterion, groups),) = merge_proposals([("g", ProposedCriterion(text, points))], 1)
    entry = Measured(criterion, groups, 0.5, 1.0, 1.0, 0.5)
    written = tomllib.loads(rubric_toml([entry], [entry], title=title))
    assert as_rubric(written).criteria[0].text == text
    assert len(written["criteria"]) == 1
