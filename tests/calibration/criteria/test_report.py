"""A meta-evaluation from recorded verdicts: what counts, what is left out, and what is said about it."""

import json
from pathlib import Path
from typing import Any

import pytest

from calipers.calibration.criteria import Labelled, Recorded, meta_evaluate, read_verdicts
from calipers.calibration.criteria.verdicts import as_recorded
from calipers.errors import InputError


def row(line: int, labels: dict[str, bool], category: str = "a") -> Labelled:
    prompt = ({"role": "user", "content": "?"},)
    return Labelled(line, prompt, f"Answer {line}.", "Is short.", tuple(labels.values()), tuple(labels), category)


ROWS = [
    row(1, {"p1": True, "p2": True}),
    row(2, {"p1": False, "p2": True}),
    row(3, {"p1": False, "p2": False}, "b"),
    row(4, {"p1": True, "p3": False}, "b"),
]


def said(*mets: bool | None, judge: str = "j") -> list[dict[str, Any]]:
    return [{"judge": judge, "line": line, "met": met, "reason": "timeout"} for line, met in enumerate(mets, 1)]


def test_each_label_is_compared_by_itself_per_category_and_annotator() -> None:
    (judge,) = meta_evaluate(ROWS, said(True, False, False, True)).judges
    assert (judge.graded, judge.ungraded, judge.overall.labels) == (4, 0, 8)
    # met: 4 comparisons, 3 right, of 4 labels met; not met: 4, 3 right, of 4.
    assert judge.overall.balanced_f1 == pytest.approx(0.75)
    assert {name: one.labels for name, one in judge.by_category.items()} == {"a": 4, "b": 4}
    assert judge.by_annotator["p1"].balanced_f1 == 1.0
    assert judge.by_annotator["p2"].labels == 3
    assert judge.by_annotator["p3"].balanced_f1 is None  # one label


def test_annotators_are_measured_against_the_others() -> None:
    found = meta_evaluate(ROWS, said(True, False, False, True))
    assert found.among.labels == 8
    assert found.annotators["p2"].to_dict() | {"interval": None} == {
        "labels": 3, "precision_met": 0.5, "recall_met": 1.0, "f1_met": pytest.approx(2 / 3), "precision_not_met": 1.0,
        "recall_not_met": 0.5, "f1_not_met": pytest.approx(2 / 3), "balanced_f1": pytest.approx(2 / 3),
        "interval": None,
    }  # fmt: skip
    assert found.judges[0].above == 1.0  # of those that have a figure


def test_no_verdict_is_neither_right_nor_wrong_but_counted() -> None:
    (judge,) = meta_evaluate(ROWS, said(True, None, False, None)).judges
    assert (judge.graded, judge.ungraded, judge.reasons) == (2, 2, {"timeout": 2})
    assert judge.overall.balanced_f1 == 1.0
    assert any(
        "2 of 4 verdicts are missing" in line for line in meta_evaluate(ROWS, said(True, None, False, None)).findings
    )


def test_judges_are_compared_on_the_rows_that_all_of_them_decided() -> None:
    found = meta_evaluate(ROWS, [*said(True, False, False, False), *said(True, None, None, False, judge="k")])
    one, other = found.judges
    assert (one.common_rows, one.common.labels, other.common.labels) == (2, 4, 4)
    assert one.common == other.common
    assert one.overall != other.overall
    assert any("balanced F1 on the 2 rows that all did: j 0.733, k 0.733" in line for line in found.findings), (
        found.findings
    )
    assert found.to_dict()["judges"][1]["common"]["balanced_f1"] == other.common.balanced_f1


def test_judges_are_apart_and_repeats_count_each() -> None:
    found = meta_evaluate(ROWS, [*said(True, True, True, True), *said(True, False, False, True, judge="k") * 2])
    assert [one.judge for one in found.judges] == ["j", "k"]
    assert found.judges[0].overall.balanced_f1 is None
    assert any("j: all its verdicts are 'met'" in line for line in found.findings)
    assert found.judges[1].graded == 8
    assert found.judges[1].overall.balanced_f1 == pytest.approx(0.75)
    assert found.to_dict()["judges"][1]["overall"]["labels"] == 16


def test_a_verdict_finds_its_row_by_item_and_foreign_ones_are_told() -> None:
    by_item = [
        Recorded("j", met=True, item=ROWS[2].item),
        Recorded("j", met=True, item="0" * 24),
        Recorded("j", met=True, line=9),
    ]
    found = meta_evaluate(ROWS, by_item)
    assert found.judges[0].by_category.keys() == {"b"}
    assert any("2 verdicts are about unknown rows" in line for line in found.findings)
    assert any("1 of 4 rows" in line for line in found.findings)


def test_raw_replies_are_read_or_not_available() -> None:
    raw = [as_recorded({"judge": "j", "line": 1, "raw_text": text}) for text in (
        '```json\n{"explanation": "It is short.", "criteria_met": true}\n```', '{"criteria_met": false}',
        "I am not sure.", "")]  # fmt: skip
    assert [one.met for one in raw] == [True, False, None, None]
    assert all(one.reason for one in raw[2:])


@pytest.mark.parametrize(("value", "words"), [
    ([], "is not an object"), ({"line": 1, "met": True}, "'judge'"), ({"judge": "j", "met": True}, "has no row"),
    ({"judge": "j", "line": 0, "met": True}, "'line' is 0: it must be"),
    ({"judge": "j", "line": 1}, "neither 'met' nor 'raw_text'"),
    ({"judge": "j", "line": 1, "met": 1}, "'met' must be"), ({"judge": "j", "line": 1, "met": "yes"}, "'met' must be"),
    ({"judge": "j", "item": 3, "met": True}, "'item' must be text"),
])  # fmt: skip
def test_a_bad_verdict_names_its_field_and_is_a_problem(value: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        as_recorded(value)
    found = meta_evaluate(ROWS, [value, *said(True, False, False, True)])
    assert len(found.problems) == 1
    assert found.judges[0].graded == 4


def test_a_file_of_verdicts_is_read_line_by_line(tmp_path: Path) -> None:
    file = tmp_path / "said.jsonl"
    file.write_text("\n".join([json.dumps(said(True)[0]), "nonsense"]))
    bad: list[InputError] = []
    assert [one.met for one in read_verdicts(file, on_error=bad.append)] == [True]
    assert str(bad[0]).startswith(f"{file}:2")
    with pytest.raises(InputError, match="no such file"):
        list(read_verdicts(tmp_path / "none", on_error=bad.append))


def test_nothing_to_measure_by_is_an_error() -> None:
    with pytest.raises(InputError, match="no labelled row"):
        meta_evaluate([], [])
