"""Agreement on labelled criteria: rows, verdicts recorded and asked, and balanced F1 by its definition."""

import gzip
import json
import random
from collections.abc import Sequence
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
from grading import Grader


def by_definition(pairs: list[tuple[str, bool, bool]]) -> dict[str, float | None]:
    """Shares of hits among verdicts (precision) and among labels (recall) of a kind, as the formula is stated."""
    figures: dict[str, float | None] = {}
    for name, kind in (("met", True), ("not_met", False)):
        p = mean_or_none([met == label for _, met, label in pairs if met == kind])
        r = mean_or_none([met == label for _, met, label in pairs if label == kind])
        f1 = None if p is None or r is None else 2 * p * r / (p + r) if p + r else 0.0
        figures |= {f"precision_{name}": p, f"recall_{name}": r, f"f1_{name}": f1}
    return figures | {"balanced_f1": mean_or_none([figures["f1_met"], figures["f1_not_met"]])}


def mean_or_none(values: Sequence[float | None]) -> float | None:
    known = [one for one in values if one is not None]
    return sum(known) / len(known) if known and len(known) == len(values) else None


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.booleans(), st.booleans()), max_size=30))
def test_every_figure_is_its_definition_and_none_where_a_class_is_empty(found: Any):
    agreement = Agreement.of(found)
    assert agreement.labels == len(found)
    assert {name: agreement.figures[name] for name in by_definition(found)} == pytest.approx(by_definition(found))


def test_the_interval_holds_the_figure_repeats_and_resamples_completions():
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
    "prompt": [{"role": "user", "content": "Is it catching?"}], "completion": "A little.", "completion_id": "c1",
    "rubric": "Says whether it is catching.", "binary_labels": [True, False],
    "anonymized_physician_ids": ["p1", "p2"], "category": "cluster:hedging",
}  # fmt: skip


def test_a_row_is_read():
    row = as_labelled(ROW, 7)
    assert (row.line, row.labels, row.category) == (7, (True, False), "cluster:hedging")
    assert row.prompt[0]["content"] == "Is it catching?"
    assert as_labelled(ROW | {"rubric": "Is brief."}).unit == row.unit
    assert as_labelled(ROW | {"prompt": "Is it catching?"}).unit == row.unit
    assert as_labelled(ROW | {"completion": "Much."}).unit != row.unit


BAD_ROWS: list[tuple[Any, str]] = [
    (ROW | {"binary_labels": []}, "binary_labels: must be a list of true or false"),
    (ROW | {"binary_labels": [1, 0]}, "binary_labels: must be a list of true or false"),
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


def test_what_is_wrong_names_the_field():
    for convert, cases in ((as_labelled, BAD_ROWS), (as_verdict, BAD_VERDICTS)):
        for value, words in cases:
            with pytest.raises(InputError, match=words):
                convert(value)


def test_a_bad_line_names_file_and_line_and_the_rest_is_read(tmp_path: Path):
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


def test_such_a_file_is_told_from_groups(tmp_path: Path):
    (tmp_path / "meta.jsonl.gz").write_bytes(gzip.compress(json.dumps(ROW).encode()))
    (tmp_path / "groups.jsonl").write_text(json.dumps({"group_id": "g", "trajectories": []}))
    names = ("meta.jsonl.gz", "groups.jsonl", "none")
    assert [is_labelled(tmp_path / name) for name in names] == [True, False, False]


def row(line: int, labels: tuple[bool, ...], category: str = "a") -> Labelled:
    prompt = ({"role": "user", "content": "?"},)
    return Labelled(line, prompt, f"Answer {line}.", "Is short.", labels, category)


ROWS = [row(1, (True, True)), row(2, (False, True)), row(3, (False, False), "b"), row(4, (True, False), "b")]


def recorded(*mets: bool | None, judge: str = "j") -> list[dict[str, Any]]:
    return [{"judge": judge, "line": line, "met": met, "reason": "timeout"} for line, met in enumerate(mets, 1)]


def test_each_label_is_compared_by_itself_per_category():
    (judge,) = meta_evaluate(ROWS, recorded(True, False, False, True)).judges
    assert (judge.graded, judge.ungraded, judge.overall.labels) == (4, 0, 8)
    # met: 4 comparisons, 3 right, of 4 labels met; not met: 4, 3 right, of 4.
    assert judge.overall.figures["balanced_f1"] == pytest.approx(0.75)
    assert {name: one.labels for name, one in judge.by_category.items()} == {"a": 4, "b": 4}


def test_no_verdict_is_neither_right_nor_wrong_but_counted():
    found = meta_evaluate(ROWS, recorded(True, None, False, None))
    (judge,) = found.to_dict()["judges"]
    assert (judge["graded"], judge["ungraded"], judge["missing"]) == (2, 2, {"timeout": 2})
    assert (judge["failure_rate"], judge["balanced_f1"]) == (0.5, 1.0)
    assert "2 of 4 verdicts" in {one.kind: one.text for one in found.findings}["missing_verdicts"]


def test_findings_name_what_the_figures_hide():
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


def truth(_: str, criterion: str) -> bool:
    return {"1": True, "2": False, "4": True}[criterion]


async def test_every_row_has_a_verdict_in_the_order_of_rows():
    grader = Grader(truth)
    asked = await collect_verdicts(ASKED, grader)
    assert [(one["line"], one["met"]) for one in asked.judgments] == [(1, True), (2, False), (4, True)]
    assert len(grader.asked) == asked.calls == 3
    assert all("Is it catching?" in str(request.messages) for request in grader.asked)
    (judge,) = meta_evaluate(ASKED, asked.judgments).judges
    assert (judge.judge, judge.graded, judge.overall.figures["precision_met"]) == ("Grader", 3, 0.5)
    grader.asked.clear()
    await collect_verdicts(ASKED, grader, grading={"mode": "all"}, samples=2)  # the criteria of a completion together
    assert sorted(request.ask.criteria for request in grader.asked) == [("1", "4"), ("1", "4"), ("2",), ("2",)]


async def test_what_cannot_be_decided_is_not_available_with_its_reason():
    def refuses(*_: object) -> Exception:
        return PermanentError("refused", "it will not")

    asked = await collect_verdicts(ASKED, Grader(truth, refuses))
    assert {(one["met"], one["reason"]) for one in asked.judgments} == {(None, "it will not")}
    (judge,) = meta_evaluate(ASKED, asked.judgments).judges
    assert (judge.graded, judge.ungraded, judge.overall.figures["balanced_f1"]) == (0, 3, None)
