"""Agreement on labelled criteria: rows, verdicts recorded and asked, and balanced F1 by its definition."""

import gzip
import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.calibration.criteria import (
    Agreement,
    Labelled,
    as_labelled,
    as_verdict,
    as_verdicts,
    collect_verdicts,
    is_labelled,
    meta_evaluate,
    read_labelled,
)
from calipers.errors import InputError, PermanentError
from calipers.types import Completion, JudgeRequest
from grading import Grader


def by_definition(pairs: list[tuple[str, bool, bool]]) -> dict[str, float | None]:
    """Shares of hits among verdicts (precision) and among labels (recall) of a kind, as the formula is stated."""
    figures: dict[str, float | None] = {}
    for name, kind in (("met", True), ("not_met", False)):
        hits = {
            "precision": [met == label for _, met, label in pairs if met == kind],
            "recall": [met == label for _, met, label in pairs if label == kind],
        }
        p, r = (sum(found) / len(found) if found else None for found in hits.values())
        f1 = None if p is None or r is None else 2 * p * r / (p + r) if p + r else 0.0
        figures |= {f"precision_{name}": p, f"recall_{name}": r, f"f1_{name}": f1}
    met, unmet = figures["f1_met"], figures["f1_not_met"]
    return figures | {"balanced_f1": None if met is None or unmet is None else (met + unmet) / 2}


pairs = st.lists(st.tuples(st.sampled_from("abcd"), st.booleans(), st.booleans()), max_size=30)


@given(pairs)
def test_every_figure_is_its_definition_and_none_where_a_class_is_empty(found: Any) -> None:
    agreement = Agreement.of(found)
    for name, value in by_definition(found).items():
        assert agreement.figures[name] == (None if value is None else pytest.approx(value)), name
    assert agreement.labels == len(found)


def test_the_interval_holds_the_figure_repeats_and_resamples_completions() -> None:
    generator = random.Random(3)
    compared = [(str(number), met, met if generator.random() < 0.8 else not met)
                for number in range(300) for met in (True, False)]  # fmt: skip
    found = Agreement.of(compared)
    low, high = found.interval or (1.0, 0.0)
    assert low < (found.figures["balanced_f1"] or 0) < high
    assert Agreement.of(compared).interval == found.interval
    # The same comparisons ten times over are not ten times the evidence, and are told apart by their completion.
    assert Agreement.of(compared * 10).interval == pytest.approx(found.interval)
    apart = Agreement.of([(f"{copy}:{unit}", met, label) for copy in range(10) for unit, met, label in compared])
    assert apart.interval is not None
    assert apart.interval[1] - apart.interval[0] < (high - low) / 2


ROW: dict[str, Any] = {
    "prompt": [{"role": "user", "content": "Is it catching?"}],
    "completion": "A little.",
    "rubric": "Says whether it is catching.",
    "binary_labels": [True, False],
    "anonymized_physician_ids": ["p1", "p2"],
    "category": "cluster:hedging",
    "completion_id": "c1",
}


def test_a_row_is_read() -> None:
    row = as_labelled(ROW, 7)
    assert (row.line, row.labels, row.category) == (7, (True, False), "cluster:hedging")
    assert row.prompt[0]["content"] == "Is it catching?"
    assert as_labelled(ROW | {"rubric": "Is brief."}).unit == row.unit
    assert as_labelled(ROW | {"prompt": "Is it catching?"}).unit == row.unit
    assert as_labelled(ROW | {"completion": "Much."}).unit != row.unit


BAD_ROWS: list[tuple[Any, str]] = [
    (ROW | {"binary_labels": []}, "binary_labels: must list true or false"),
    (ROW | {"binary_labels": [1, 0]}, "binary_labels: must list true or false"),
    (ROW | {"completion": " "}, "completion: must be text"),
    (ROW | {"rubric": 3}, "rubric: must be text"),
    (ROW | {"prompt": None}, "prompt: must be messages or text"),
    (ROW | {"prompt": [{"content": "no role"}]}, "prompt: "),
    (ROW | {"category": 3}, "category: must be text"),
]  # fmt: skip
BAD_VERDICTS: list[tuple[Any, str]] = [
    ([], "is not an object"), ({"line": 1, "met": True}, "'judge'"), ({"judge": "j", "met": True}, "'line' is None"),
    ({"judge": "j", "line": 0, "met": True}, "'line' is 0: it must be"), ({"judge": "j", "line": 1}, "'met' must be"),
    ({"judge": "j", "line": 1, "met": 1}, "'met' must be"),
]  # fmt: skip


def test_what_is_wrong_names_the_field() -> None:
    for convert, cases in ((as_labelled, BAD_ROWS), (as_verdict, BAD_VERDICTS)):
        for value, words in cases:
            with pytest.raises(InputError, match=words):
                convert(value)


def test_a_bad_line_names_file_and_line_and_the_rest_is_read(tmp_path: Path) -> None:
    file, verdicts = tmp_path / "meta.jsonl", tmp_path / "said.jsonl"
    file.write_text("\n".join([json.dumps(ROW), "{", json.dumps(ROW | {"rubric": ""}), json.dumps(ROW)]))
    bad: list[InputError] = []
    assert [row.line for row in read_labelled(file, on_error=bad.append)] == [1, 4]
    assert [str(one)[: len(str(file)) + 2] for one in bad] == [f"{file}:2", f"{file}:3"]
    with pytest.raises(InputError, match="2: not"):
        list(read_labelled(file))
    verdicts.write_text("\n".join([json.dumps(recorded(True)[0]), "nonsense"]))
    assert [one.met for one in as_verdicts(verdicts, on_error=bad.append)] == [True]
    assert str(bad[2]).startswith(f"{verdicts}:2")
    for read in (read_labelled, as_verdicts):
        with pytest.raises(InputError, match="no such file"):
            list(read(tmp_path / "none.jsonl"))


def test_such_a_file_is_told_from_groups(tmp_path: Path) -> None:
    packed = tmp_path / "meta.jsonl.gz"
    packed.write_bytes(gzip.compress(json.dumps(ROW).encode()))
    groups = tmp_path / "groups.jsonl"
    groups.write_text(json.dumps({"group_id": "g", "trajectories": []}))
    assert [is_labelled(path) for path in (packed, groups, tmp_path / "none")] == [True, False, False]


def row(line: int, labels: tuple[bool, ...], category: str = "a") -> Labelled:
    prompt = ({"role": "user", "content": "?"},)
    return Labelled(line, prompt, f"Answer {line}.", "Is short.", labels, category)


ROWS = [row(1, (True, True)), row(2, (False, True)), row(3, (False, False), "b"), row(4, (True, False), "b")]


def recorded(*mets: bool | None, judge: str = "j") -> list[dict[str, Any]]:
    return [{"judge": judge, "line": line, "met": met, "reason": "timeout"} for line, met in enumerate(mets, 1)]


def test_each_label_is_compared_by_itself_per_category() -> None:
    (judge,) = meta_evaluate(ROWS, recorded(True, False, False, True)).judges
    assert (judge.graded, judge.ungraded, judge.overall.labels) == (4, 0, 8)
    # met: 4 comparisons, 3 right, of 4 labels met; not met: 4, 3 right, of 4.
    assert judge.overall.figures["balanced_f1"] == pytest.approx(0.75)
    assert {name: one.labels for name, one in judge.by_category.items()} == {"a": 4, "b": 4}


def test_no_verdict_is_neither_right_nor_wrong_but_counted() -> None:
    found = meta_evaluate(ROWS, recorded(True, None, False, None))
    (judge,) = found.judges
    assert (judge.graded, judge.ungraded, judge.reasons) == (2, 2, {"timeout": 2})
    assert judge.overall.figures["balanced_f1"] == 1.0
    (report,) = found.to_dict()["judges"]
    assert (report["failure_rate"], report["missing"], report["balanced_f1"]) == (0.5, {"timeout": 2}, 1.0)
    assert "2 of 4 verdicts" in {one.kind: one.text for one in found.findings}["missing_verdicts"]


def test_findings_name_what_the_figures_hide() -> None:
    said = [*recorded(True, True, True, True), *recorded(True, False, None, judge="k") * 2,
            {"judge": "k", "line": 9, "met": True}]  # fmt: skip
    found = meta_evaluate(ROWS, said)
    assert [(one.judge, one.graded) for one in found.judges] == [("j", 4), ("k", 4)]
    assert found.judges[0].overall.figures["balanced_f1"] is None
    assert {(one.kind, one.judge) for one in found.findings} == {
        ("few_completions", None), ("foreign_rows", None), ("other_rows", None), ("one_verdict", "j"),
        ("missing_verdicts", "k"), ("unasked_rows", "k"),
    }  # fmt: skip


PROMPT = ({"role": "user", "content": "Is it catching?"},)
ASKED = [
    Labelled(line, PROMPT, completion, rubric, (label, label), "a")
    for line, completion, rubric, label in [
        (1, "Yes, very.", "Says whether.", True),
        (2, "Perhaps.", "Says whether.", False),
        (4, "Yes, very.", "Is polite.", False),
    ]
]
TRUTH = {"1": True, "2": False, "4": True}


async def test_every_row_has_a_verdict_in_the_order_of_rows() -> None:
    grader = Grader(lambda _, criterion: TRUTH[criterion])
    asked = await collect_verdicts(ASKED, grader)
    assert [(one["line"], one["met"]) for one in asked.judgments] == [(1, True), (2, False), (4, True)]
    assert len(grader.asked) == 3
    assert all("Is it catching?" in str(request.messages) for request in grader.asked)
    (judge,) = meta_evaluate(ASKED, asked.judgments).judges
    assert (judge.judge, judge.graded, judge.overall.figures["precision_met"]) == ("Grader", 3, 0.5)
    assert asked.calls == 3


async def test_a_grading_puts_the_criteria_of_a_completion_together() -> None:
    grader = Grader(lambda _, criterion: TRUTH[criterion])
    await collect_verdicts(ASKED, grader, grading={"mode": "all"}, samples=2)
    assert sorted(request.ask.criteria for request in grader.asked) == [("1", "4"), ("1", "4"), ("2",), ("2",)]


class Down:
    """A judge that never answers."""

    endpoint, model = "down", "down"

    async def complete(self, request: JudgeRequest) -> Completion:
        raise PermanentError("refused", "it will not")


async def test_what_cannot_be_decided_is_not_available_with_its_reason() -> None:
    asked = await collect_verdicts(ASKED, Down())
    assert {(one["met"], one["reason"]) for one in asked.judgments} == {(None, "it will not")}
    (judge,) = meta_evaluate(ASKED, asked.judgments).judges
    assert (judge.graded, judge.ungraded, judge.overall.figures["balanced_f1"]) == (0, 3, None)
