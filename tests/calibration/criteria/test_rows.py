"""Rows of a meta-evaluation: what is read, and what is refused by line and field."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from calipers.calibration.criteria import as_labelled, is_labelled, read_labelled
from calipers.errors import InputError

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
    assert (row.line, row.labels, row.annotators, row.category) == (7, (True, False), ("p1", "p2"), "cluster:hedging")
    assert row.prompt[0]["content"] == "Is it catching?"
    other = as_labelled(ROW | {"rubric": "Is brief."})
    assert other.unit == row.unit
    assert other.item != row.item
    assert as_labelled(ROW | {"prompt": "Is it catching?"}).item == row.item


def test_names_and_categories_may_be_missing() -> None:
    row = as_labelled({key: value for key, value in ROW.items() if key not in ("anonymized_physician_ids", "category")})
    assert (row.annotators, row.category) == ((), None)


@pytest.mark.parametrize(("changed", "words"), [
    ({"binary_labels": []}, "binary_labels: must list true or false"),
    ({"binary_labels": [1, 0]}, "binary_labels: must list true or false"),
    ({"binary_labels": None}, "binary_labels: must be a list"),
    ({"anonymized_physician_ids": ["p1"]}, "anonymized_physician_ids: 1 for 2 binary_labels"),
    ({"anonymized_physician_ids": ["p1", "p1"]}, "contains an id twice"),
    ({"completion": None}, "completion: is missing"),
    ({"completion": " "}, "completion: is empty"),
    ({"rubric": 3}, "rubric: is a number"),
    ({"prompt": None}, "prompt: must be messages or text"),
    ({"prompt": [{"content": "no role"}]}, "prompt: "),
    ({"category": 3}, "category: must be text"),
])  # fmt: skip
def test_what_is_wrong_names_the_field(changed: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        as_labelled(ROW | changed)


def test_a_bad_line_names_file_and_line_and_the_rest_is_read(tmp_path: Path) -> None:
    file = tmp_path / "meta.jsonl"
    file.write_text("\n".join([json.dumps(ROW), "{", json.dumps(ROW | {"rubric": ""}), json.dumps(ROW)]))
    bad: list[InputError] = []
    assert [row.line for row in read_labelled(file, on_error=bad.append)] == [1, 4]
    assert [str(one)[: len(str(file)) + 2] for one in bad] == [f"{file}:2", f"{file}:3"]
    with pytest.raises(InputError, match="2: not"):
        list(read_labelled(file))
    with pytest.raises(InputError, match="no such file"):
        list(read_labelled(tmp_path / "none.jsonl"))


def test_such_a_file_is_told_from_groups(tmp_path: Path) -> None:
    packed = tmp_path / "meta.jsonl.gz"
    packed.write_bytes(gzip.compress(json.dumps(ROW).encode()))
    groups = tmp_path / "groups.jsonl"
    groups.write_text(json.dumps({"group_id": "g", "trajectories": []}))
    assert [is_labelled(path) for path in (packed, groups, tmp_path / "none")] == [True, False, False]
