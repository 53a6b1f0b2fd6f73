"""Groups by number: the same groups and ids that every other command reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from calipers.errors import InputError
from calipers.inputs import read_groups
from calipers.labelling.groups import GroupIndex
from groups import group_of
from labelled import ANSWERS, groups_file, opened


def test_groups_have_the_order_of_the_file_and_one_of_one_has_no_number(tmp_path: Path) -> None:
    alone = group_of({"only": "42"}, group_id="alone")
    others = [group_of(ANSWERS, group_id=f"g{n}", question=f"{n}?") for n in range(3)]
    path = groups_file(tmp_path / "g.jsonl", [others[0], alone, *others[1:]])
    index = opened(path)
    assert (index.ids, index.single) == (["g0", "g1", "g2"], 1)
    assert [index.group(number) for number in range(3)] == [one for one in read_groups(path) if one.group_id != "alone"]


def test_an_empty_file_and_a_missing_one_are_named_and_a_bad_line_is_reported(tmp_path: Path) -> None:
    empty = tmp_path / "empty.jsonl"
    empty.write_text("")
    for path, said in ((empty, "holds no groups"), (tmp_path / "none.jsonl", "no such file")):
        with pytest.raises(InputError, match=said) as caught:
            opened(path)
        assert str(path) in str(caught.value)
    path = groups_file(tmp_path / "g.jsonl", [group_of(ANSWERS)])
    path.write_text(path.read_text() + "[1]\n")
    errors: list[InputError] = []
    assert len(GroupIndex(str(path), on_error=errors.append)) == 1
    assert [error.line for error in errors] == [2]
