"""Groups by number: the same groups and ids that every other command reads."""

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.errors import InputError
from calipers.inputs import read_groups
from calipers.labelling.index import GroupIndex
from groups import group_of
from labelled import ANSWERS, groups_file, opened

TWO = [{"id": "a", "messages": [{"role": "user", "content": "x"}]}, {"messages": [{"role": "user", "content": "y"}]}]


def test_groups_are_read_again_by_number_in_any_order(tmp_path: Path):
    path = groups_file(tmp_path / "g.jsonl", count=5)
    with opened(path) as index:
        assert index.ids == [f"g{n}" for n in range(5)]
        for number in (3, 0, 4):
            assert index.group(number) == list(read_groups(path))[number]


@given(
    lines=st.lists(
        st.sampled_from([
            json.dumps({"group_id": "a", "trajectories": TWO}),
            json.dumps({"group_id": 7, "trajectories": TWO}),
            json.dumps({"trajectories": TWO}),
            json.dumps({"group_id": "lone \ud800", "trajectories": TWO}),
            json.dumps({"group_id": "", "trajectories": TWO}),
            json.dumps({"group_id": "n", "trajectories": "none"}),
            '{"group_id": "nan", "trajectories": [{"gold": NaN}, {"gold": 1}]}',
            "", "  ", "[1]", '{"group_id": ',
        ]),
        min_size=1, max_size=8,
    )
)  # fmt: skip
def test_ids_lines_and_errors_are_those_of_read_groups(tmp_path_factory: pytest.TempPathFactory, lines: list[str]):
    path = tmp_path_factory.mktemp("groups") / "g.jsonl"
    path.write_text("\ufeff" + "\n".join(lines), encoding="utf-8")
    expected: list[str] = []
    try:
        read = list(read_groups(path, on_error=lambda error: expected.append(str(error))))
    except InputError:
        read = []
    said: list[str] = []
    try:
        index = GroupIndex(str(path), on_error=lambda error: said.append(str(error)))
    except InputError:
        assert read == []
        return
    with index:
        groups = []
        for number in range(len(index)):
            try:
                groups.append(index.group(number))
            except InputError as error:
                said.append(str(error))
    assert groups == read
    assert sorted(said) == sorted(expected)


@pytest.mark.parametrize("kind", ["gz", "json"])
def test_other_kinds_of_files_are_copied_first(tmp_path: Path, kind: str):
    plain = groups_file(tmp_path / "g.jsonl")
    if kind == "gz":
        path = tmp_path / "g.jsonl.gz"
        path.write_bytes(gzip.compress(plain.read_bytes()))
    else:
        path = tmp_path / "g.json"
        path.write_text(json.dumps([json.loads(line) for line in plain.read_text().splitlines()]))
    with opened(path) as index:
        assert [index.group(number) for number in (2, 1)] == [list(read_groups(plain))[number] for number in (2, 1)]


def test_a_group_of_one_has_no_number_and_is_counted(tmp_path: Path):
    alone = group_of({"only": "42"}, group_id="alone")
    with opened(groups_file(tmp_path / "g.jsonl", [alone, group_of(ANSWERS)])) as index:
        assert (index.ids, index.single) == (["g"], 1)


def test_an_empty_file_and_a_missing_one_are_named(tmp_path: Path):
    empty = tmp_path / "empty.jsonl"
    empty.write_text("")
    for path, said in ((empty, "holds no groups"), (tmp_path / "none.jsonl", "no such file")):
        with pytest.raises(InputError, match=said) as caught:
            opened(path)
        assert str(path) in str(caught.value)


def test_a_file_that_changes_while_it_is_open_is_no_other_group(tmp_path: Path):
    path = groups_file(tmp_path / "g.jsonl")
    with opened(path) as index:
        text = path.read_text()
        path.write_text(text.replace('"g1"', '"h1"'))
        with pytest.raises(InputError, match=r"g\.jsonl:2: the file has changed"):
            index.group(1)


def test_a_line_that_is_too_long_is_named_and_the_next_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("calipers.labelling.index.MAX_LINE", 2**20)
    path = groups_file(
        tmp_path / "g.jsonl", [group_of({"a": "x" * 2**21, "b": "y"}, group_id="long"), group_of(ANSWERS)]
    )
    said: list[str] = []
    with GroupIndex(str(path), on_error=lambda error: said.append(str(error))) as index:
        assert index.ids == ["g"]
        assert index.group(0).group_id == "g"
    assert said == [f"{path}:1: the line is longer than 1 MB; split the group, or link images instead"]
