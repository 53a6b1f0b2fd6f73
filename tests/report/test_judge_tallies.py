"""What results and ledgers say of judges: counts that are known from the data, and None for what is not."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from calipers.report.judge_tallies import Agreement, SourceTally
from calipers.testing import Flaky, Noise, PositionBias, SimulatedJudge
from groups import FOUR, QUALITY, group_of
from reported import data_of, judged, member, report_of, result_of, write_lines


async def tally_of(folder: Path, judges: list[Any], groups: int = 3, **options: Any) -> dict[str, Any]:
    asked = [group_of(FOUR, group_id=f"g{n}") for n in range(groups)]
    results, ledger = await judged(folder, asked, judges, **options)
    (found,) = data_of(report_of(folder, results, ledger))["judge"]
    assert found["kind"] == "judged"
    return dict(found)


async def test_questions_cost_and_flips_of_a_biased_judge(tmp_path: Path):
    judge = SimulatedJudge(QUALITY | {"close": 0.85}, PositionBias(0.4))
    found = await tally_of(tmp_path, [judge], orders=2)
    (one,) = found["judges"]
    assert (one["questions"], one["groups"], one["causes"]) == (6, 3, {"first": 3, "order": 3})
    assert one["outcomes"] == {"strict": 6}
    assert one["failures"] == {}
    assert one["flips"] == [3, 3]
    assert one["repeated"] == 3
    assert -1 <= one["repeatability"] < 0.9
    assert one["cost"] == [None, 0, 6], "a cost that nobody told is unknown, not 0"
    assert found["statuses"] == {"scored": 3}
    assert found["members"] == {"scored": 12}


async def test_judges_of_a_panel_are_counted_apart(tmp_path: Path):
    judges = [SimulatedJudge(QUALITY), SimulatedJudge({name: 1 - value for name, value in QUALITY.items()})]
    found = await tally_of(tmp_path, judges)
    assert sorted(one["questions"] for one in found["judges"]) == [3, 3]
    assert [one["flips"] for one in found["judges"]] == [[0, 0], [0, 0]], "no group was shown in several orders"
    assert [one["repeatability"] for one in found["judges"]] == [None, None]


async def test_an_answer_that_cannot_be_used_is_counted_for_its_judge(tmp_path: Path):
    judges = [SimulatedJudge(QUALITY), SimulatedJudge(QUALITY, Noise(0.1), Flaky(empty=0.4))]
    found = await tally_of(tmp_path, judges, groups=6)
    assert len(found["judges"]) == 2
    silent = {"honest" in one["name"]: one["outcomes"].get("rejected", 0) for one in found["judges"]}
    assert silent[True] == 0
    assert silent[False] > 0


def test_failures_are_counted_by_kind():
    def question(outcome: str, *, failed: bool) -> dict[str, Any]:
        return {"judge": "j", "slot": 0, "cause": "first", "outcome": outcome, "failed": failed, "missing": {},
                "canary": None, "answer": None, "judgments": [], "order": []}  # fmt: skip

    tally = SourceTally()
    asked = [question("timeout", failed=True), question("timeout", failed=True), question("refused", failed=True),
             question("rejected", failed=False)]  # fmt: skip
    detail = {"status": "failed", "trajectories": [{"status": "failed"}], "judge_calls": None, "usage": None,
              "flags": [], "questions": asked, "judges": []}  # fmt: skip
    tally.add(detail)
    (judge,) = tally.to_dict("s")["judges"]
    assert judge["failures"] == {"timeout": 2, "refused": 1}
    assert judge["outcomes"] == {"rejected": 1}
    assert judge["latency"] == [None, 0, 0]


def test_a_result_file_alone_says_what_it_has(tmp_path: Path):
    parts = [{"judge": "a", "answers": 2, "scored": 4, "usage": {"cost_usd": 0.5}}, {"judge": "b"}]
    lines = [result_of("g", member("x"), member("y", None), judges=parts), result_of("h", member("x"))]
    (found,) = data_of(report_of(tmp_path, write_lines(tmp_path / "r.jsonl", lines)))["judge"]
    assert (found["groups"], found["asked"], found["judges"]) == (2, 0, [])
    assert found["members"] == {"scored": 2, "abstained": 1}
    assert found["parts"] == [["a", [2, 1, 0], [4, 1, 0], [0.5, 1, 0]], ["b", [None, 0, 1], [None, 0, 1], [None, 0, 1]]]


def test_a_thousand_names_are_a_hundred_judges():
    tally = SourceTally()
    for number in range(1000):
        part = {"judge": f"model {number}", "answers": 1}
        detail = {"status": "scored", "trajectories": [], "judge_calls": 1, "usage": None, "flags": [],
                  "questions": None, "judges": [part]}  # fmt: skip
        tally.add(detail)
    parts = tally.to_dict("s")["parts"]
    assert len(parts) == 101
    assert parts[-1][:2] == ["other judges", [900, 900, 0]]


def test_an_empty_source_has_no_view_of_judges(tmp_path: Path):
    assert data_of(report_of(tmp_path, write_lines(tmp_path / "r.jsonl", [])))["judge"] == []


@pytest.mark.parametrize("redact", [False, True])
async def test_tallies_are_the_same_without_texts(tmp_path: Path, *, redact: bool):
    results, ledger = await judged(tmp_path, [group_of(FOUR)], [SimulatedJudge(QUALITY)], orders=2)
    (found,) = data_of(report_of(tmp_path, results, ledger, redact=redact))["judge"]
    assert found["judges"][0]["questions"] == 2
    assert found["judges"][0]["repeatability"] == pytest.approx(1)


def agreement_of(*groups: Sequence[tuple[float | None, float | None]]) -> list[float | None]:
    tally = Agreement()
    for members in groups:
        tally.add([{"id": str(at), "reward": reward, "gold": gold} for at, (reward, gold) in enumerate(members)])
    return tally.to_list()


def test_agreement_of_rewards_with_gold_is_over_groups_that_tell_it():
    right, wrong = [(0.9, 1.0), (0.1, 0.0)], [(0.9, 0.0), (0.1, 1.0)]
    assert agreement_of() == [None, None, None, 0]
    assert agreement_of([(0.9, None), (0.1, None)], [(0.9, 1.0), (0.1, 1.0)], [(None, 1.0), (0.1, 0.0)])[3] == 0
    assert agreement_of(right) == [1.0, None, None, 1]
    mean, low, high, groups = agreement_of(right, right, right, wrong)
    assert (mean, groups) == (0.5, 4)
    assert (low, high) == (-1.0, 1.0), "an interval ends where the figure does"
    assert agreement_of(right, right)[:3] == [1.0, 1.0, 1.0]
