"""One annotator at work: what comes next, saving, undoing, resuming, and two tabs."""

from pathlib import Path
from typing import Any

import pytest

from calipers.errors import InputError
from calipers.labelling.labels import LabelFile
from calipers.labelling.session import RefusedLabelError
from groups import group_of
from labelled import ANSWERS, fail, groups_file, label_of, opened, session_of


def test_groups_come_one_after_the_other_until_all_are_labelled(tmp_path: Path):
    index = opened(groups_file(tmp_path / "g"))
    session = session_of(index, tmp_path / "l")
    tokens, token = [], None
    for _ in range(3):
        found = session.next(token)
        token = found["group"]["token"]
        tokens.append(token)
        assert session.next(token)["group"]["token"] != token or len(tokens) == 3  # skipped: it comes last
        saved = session.save(token, [1, 2, 2, None], "why", found["group"]["revision"])
    assert (saved["labelled"], saved["total"], saved["revision"]) == (3, 3, 1)
    assert len(set(tokens)) == 3
    assert session.next(token)["group"] is None
    assert session.previous()["group"]["token"] == tokens[-1]
    assert session.previous(tokens[-1])["group"]["token"] == tokens[-2]
    assert session.previous(tokens[0])["group"] is None
    labels = LabelFile(tmp_path / "l", on_error=fail).labels()
    assert [sorted(map(str, (one.ranks or {}).values())) for one in labels] == [["1", "2", "2", "None"]] * 3
    assert all(len(one.shown) == 4 for one in labels)


def test_a_resumed_group_looks_as_before_with_its_ranks(tmp_path: Path):
    index = opened(groups_file(tmp_path / "g"))
    first = session_of(index, tmp_path / "l").next()["group"]
    session_of(index, tmp_path / "l").save(first["token"], [2, 1, 3, None], "a note", 0)
    again = session_of(index, tmp_path / "l").previous()["group"]
    same = ("candidates", "shared", "token")
    assert {key: again[key] for key in same} == {key: first[key] for key in same}
    assert (again["ranks"], again["note"], again["revision"]) == ([2, 1, 3, None], "a note", 1)


def test_a_label_taken_back_is_to_be_labelled_again_and_stays_in_the_file(tmp_path: Path):
    index = opened(groups_file(tmp_path / "g"))
    session = session_of(index, tmp_path / "l")
    token = session.next()["group"]["token"]
    session.save(token, [1, 2, 3, 4], "", 0)
    assert session.take_back(token, 1)["labelled"] == 0
    assert session.next()["group"]["token"] == token
    assert session.take_back(token, 2)["saved"] is None  # nothing to take back, nothing written
    assert len((tmp_path / "l").read_text().splitlines()) == 2


def test_two_annotators_share_a_file_and_see_different_tokens_and_orders(tmp_path: Path):
    index = opened(groups_file(tmp_path / "g", count=8))
    ann, ben = (session_of(index, tmp_path / "l", name) for name in ("ann", "ben"))
    first, second = ann.next()["group"], ben.next()["group"]
    assert first["token"] != second["token"]
    assert first["shared"] == second["shared"]
    ann.save(first["token"], [1, 2, 3, 4], "", 0)
    assert ben.next()["group"]["token"] == second["token"]
    assert (ann.progress()["labelled"], ben.progress()["labelled"]) == (1, 0)
    with pytest.raises(RefusedLabelError):
        ben.save(first["token"], [1, 2, 3, 4], "", 0)


def test_ranks_that_are_none_are_refused_and_nothing_is_written(tmp_path: Path):
    session = session_of(opened(groups_file(tmp_path / "g")), tmp_path / "l")
    token = session.next()["group"]["token"]
    good = [1, 2, 3, 4]
    wrong: list[Any] = [None, [1, 2, 3], [1, 2, 4, 5], [0, 1, 2, 3], [1.0, 2, 3, 4], [True, 2, 3, 4], ["1", 2, 3, 4]]
    refused = [(ranks, "", 0) for ranks in wrong]
    refused += [(good, "x" * 5000, 0), (good, None, 0), (good, "", None), (good, "", True)]
    for ranks, note, based_on in refused:
        with pytest.raises(RefusedLabelError):
            session.save(token, ranks, note, based_on)
    assert not (tmp_path / "l").exists()


def test_a_group_that_cannot_be_shown_is_reported_once_and_passed_over(tmp_path: Path):
    same = group_of({"a": "42", "b": "42"}, group_id="same")
    path = groups_file(tmp_path / "g", [same, group_of(ANSWERS, group_id="good")])
    said: list[str] = []

    def report(error: InputError) -> None:
        said.append(str(error))

    index = opened(path)
    session = session_of(index, tmp_path / "l", on_error=report)
    for _ in range(2):
        found = session.next()
        assert found["total"] == 1
    assert len(found["group"]["candidates"]) == 4
    assert len(said) == 1
    assert said[0].startswith(f"{path}: ")
    assert said[0].endswith("fewer than two different candidates: nothing to rank")


def test_a_label_of_texts_that_changed_since_is_shown_as_such(tmp_path: Path):
    path = groups_file(tmp_path / "g", [group_of(ANSWERS)])
    old = label_of(group_of(ANSWERS | {"right": "old"}), "ann", {"right": 1, "close": 2, "far": 3, "silent": 4})
    LabelFile(tmp_path / "l", on_error=fail).append(old)
    index = opened(path)
    group = session_of(index, tmp_path / "l").previous()["group"]
    assert (group["changed"], group["ranks"]) == (True, None)
