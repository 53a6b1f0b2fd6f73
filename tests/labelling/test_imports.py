"""Labels from CSV and from Argilla, and what is wrong with them: file, line and remedy."""

import json
from pathlib import Path
from typing import Any

import pytest

from calipers.errors import InputError
from calipers.labelling.imports import labels_from_argilla, labels_from_csv
from calipers.labelling.labels import Label
from labelled import groups_file, opened

IDS = "'right', 'close', 'far', 'silent'; use the ids of the trajectories"


class Read:
    """Labels that were read, and what was reported."""

    def __init__(self, folder: Path, name: str, text: str, **options: Any) -> None:
        self.path = folder / name
        self.path.write_text(text, encoding="utf-8")
        said: list[str] = []
        options = {"annotator": None, "on_error": lambda error: said.append(str(error))} | options
        read = labels_from_csv if name.endswith(("csv", "tsv")) else labels_from_argilla
        if read is labels_from_argilla:
            options = {"question": None} | options
        with opened(groups_file(folder / "g.jsonl")) as index:
            self.labels: list[Label] = list(read(str(self.path), index, **options))
        self.said = [one.removeprefix(f"{self.path}:") for one in said]


def test_a_table_of_ranks_with_ties_and_what_nobody_can_tell(tmp_path: Path):
    read = Read(
        tmp_path, "ranks.csv",
        "\ufeffGroup_ID,id,Rank,annotator,time,note\n"
        "g0,right,1,ann,2026-01-01T10:00:00Z,good\ng0,close,2,ann,,\ng0,far,2,ann,,\n"
        "g1,far,3,ben,,\ng1,silent,,ben,,\ng1,right,1.5,ben,,\n",
    )  # fmt: skip
    assert read.said == []
    first, second = read.labels
    assert first.ranks == {"right": 1, "close": 2, "far": 2, "silent": None}
    assert (first.annotator, first.time, first.note) == ("ann", "2026-01-01T10:00:00Z", "good")
    assert second.ranks == {"right": 1, "close": None, "far": 2, "silent": None}
    assert second.time.endswith("Z")


def test_scores_are_higher_for_better(tmp_path: Path):
    read = Read(
        tmp_path, "s.tsv", "group_id\tid\tscore\ng0\tright\t9.5\ng0\tfar\t-2\ng0\tclose\t9.5\n", annotator="ann"
    )
    assert [one.ranks for one in read.labels] == [{"right": 1, "close": 1, "far": 2, "silent": None}]


@pytest.mark.parametrize(("rows", "said"), [
    ("g0,right,first,ann", "2: the rank 'first' is not a number from 1, the best; leave it empty for \"can't tell\""),
    ("g0,right,0,ann", "2: the rank '0' is not a number from 1, the best; leave it empty for \"can't tell\""),
    ("g0,right,nan,ann", "2: the rank 'nan' is not a number from 1, the best; leave it empty for \"can't tell\""),
    ("g0,right,1,", "2: names no annotator; add the column annotator, or name one with --annotator"),
    ("g0,,1,ann", "2: needs a group_id and the id of a trajectory"),
    ("g0,right,1,ann\ng0,right,2,ann", "3: ranks 'right' of 'g0' a second time; keep one of the two rows"),
    ("g9,right,1,ann", "2: the group 'g9' is not in {groups}; name the groups file that was labelled, or correct it"),
    ("g0,best,1,ann", f"2: 'best' is no trajectory of the group 'g0', which has {IDS}"),
])  # fmt: skip
def test_a_bad_row_is_named_with_the_remedy_and_the_other_labels_are_read(tmp_path: Path, rows: str, said: str):
    read = Read(tmp_path, "r.csv", f"group_id,id,rank,annotator\n{rows}\ng2,far,1,eve\ng2,right,2,eve\n")
    assert read.said == [said.format(groups=tmp_path / "g.jsonl")]
    assert [one.annotator for one in read.labels] == ["eve"]


@pytest.mark.parametrize("head", ["", "a,b,c\n", "group_id,id\n", "group_id,id,rank,score\n"])
def test_a_table_without_the_columns_names_them(tmp_path: Path, head: str):
    with pytest.raises(InputError, match=r"r\.csv:1: .*must name group_id, id") as caught:
        Read(tmp_path, "r.csv", head)
    assert "rank (1 is best) or score" in str(caught.value)


def record(group: str, value: object, user: str = "u-1", **more: Any) -> dict[str, Any]:
    """A record as Argilla 2 exports it."""
    return {
        "id": "6f0e", "fields": {"prompt": "?"}, "metadata": {"group_id": group}, "suggestions": {},
        "responses": {"ranking": [{"value": value, "user_id": user}]}, "vectors": {}, "_server_id": None, **more,
    }  # fmt: skip


def test_argillas_rankings_are_read_with_and_without_ranks(tmp_path: Path):
    ties = [{"value": "far", "rank": 1}, {"value": "right", "rank": 1}, {"value": "close", "rank": 2}]
    records = [record("g0", ["right", "far", "close"]), record("g1", ties, user="u-2")]
    for name, text in (
        ("r.json", json.dumps(records)), ("r.jsonl", "".join(json.dumps(one) + "\n" for one in records)),
    ):  # fmt: skip
        read = Read(tmp_path, name, text)
        assert read.said == []
        assert [(one.annotator, one.ranks) for one in read.labels] == [
            ("u-1", {"right": 1, "close": 3, "far": 2, "silent": None}),
            ("u-2", {"right": 1, "close": 2, "far": 1, "silent": None}),
        ]


def test_argillas_flat_export_is_read_and_drafts_are_not(tmp_path: Path):
    flat = {
        "id": "g2", "prompt": "?", "ranking.responses": [["far", "right"], ["right", "far"]],
        "ranking.responses.users": ["u-1", "u-2"], "ranking.responses.status": ["submitted", "draft"],
    }  # fmt: skip
    read = Read(tmp_path, "r.json", json.dumps([flat, {"id": "g1", "ranking.responses": None, "responses": None}]))
    assert read.said == []
    assert [(one.group_id, one.annotator) for one in read.labels] == [("g2", "u-1")]


def test_argillas_ratings_are_put_together(tmp_path: Path):
    records = [
        record("g0", score, metadata={"group_id": "g0", "trajectory_id": name})
        for name, score in (("right", 5), ("far", 2), ("close", 5))
    ]
    read = Read(tmp_path, "r.json", json.dumps(records))
    assert [one.ranks for one in read.labels] == [{"right": 1, "close": 1, "far": 2, "silent": None}]


@pytest.mark.parametrize(("records", "said"), [
    ([record("g9", ["far"])], "1: the group 'g9' is not in"),
    ([record("g0", ["far"]), record("g1", ["reply-1"])], "2: 'reply-1' is no trajectory of the group 'g1'"),
    ([record("g0", "yes"), record("g0", ["far"])], None),
    ([record("g0", 3)], "1: is a rating, but the record's metadata has no trajectory_id"),
    ([{"text": "no record"}], "1: has no responses, so it is no record of Argilla 2"),
    ([record("g0", ["far"]), 7], "2: record 2 is no object of Argilla's"),
    ([record("g0", ["far"]), record("g0", ["far"])], "2: ranks 'far' of 'g0' a second time by one annotator"),
    ([record("g0", ["far"], responses={"a": [{"value": ["far"], "user_id": "u"}], "b": [{"value": 2}]})],
     "1: has answers to several questions (a, b); name one with --question"),
    ([record("g0", ["far"]), record("g1", ["far"], responses={"other": [{"value": 2, "user_id": "u"}]})],
     "2: has answers to several questions (ranking, other); name one with --question"),
])  # fmt: skip
def test_a_record_that_cannot_be_used_is_named(tmp_path: Path, records: list[Any], said: str | None):
    read = Read(tmp_path, "r.json", json.dumps(records))
    if said is not None:
        assert len(read.said) == 1
        assert read.said[0].startswith(said)


def test_a_question_that_nobody_answered_is_named(tmp_path: Path):
    with pytest.raises(InputError, match="no submitted response to the question 'quality'"):
        Read(tmp_path, "r.json", json.dumps([record("g0", ["far"])]), question="quality")


@pytest.mark.parametrize(("text", "said"), [("", "is empty"), ("[1", "is not JSON")])
def test_a_file_that_is_no_export_is_named(tmp_path: Path, text: str, said: str):
    with pytest.raises(InputError, match=said):
        Read(tmp_path, "r.json", text)
