"""What an annotator sees and saves: a blinded group in an order of its own, what comes next, undoing, and resuming."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from calipers.errors import InputError
from calipers.labelling.groups import blinded
from calipers.labelling.session import RefusedLabelError
from calipers.types import Trajectory, TrajectoryGroup
from groups import group_of
from labelled import ANSWERS, groups_file, label_file, label_of, opened, session_of


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
    labels = label_file(tmp_path / "l").labels()
    assert [sorted(map(str, (one.ranks or {}).values())) for one in labels] == [["1", "2", "2", "None"]] * 3
    assert all(len(one.shown) == 4 for one in labels)


def test_a_resumed_group_looks_as_before_and_a_label_taken_back_is_to_be_labelled_again(tmp_path: Path):
    index = opened(groups_file(tmp_path / "g"))
    first = session_of(index, tmp_path / "l").next()["group"]
    session_of(index, tmp_path / "l").save(first["token"], [2, 1, 3, None], "a note", 0)
    session = session_of(index, tmp_path / "l")
    again = session.previous()["group"]
    same = ("candidates", "shared", "token")
    assert {key: again[key] for key in same} == {key: first[key] for key in same}
    assert (again["ranks"], again["note"], again["revision"]) == ([2, 1, 3, None], "a note", 1)
    assert session.take_back(first["token"], 1)["labelled"] == 0
    assert session.next()["group"]["token"] == first["token"]
    assert session.take_back(first["token"], 2)["saved"] is None  # nothing to take back, nothing written
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
    for ranks, note, based_on in (*refused, (good, "x" * 5000, 0), (good, None, 0), (good, "", None), (good, "", True)):
        with pytest.raises(RefusedLabelError):
            session.save(token, ranks, note, based_on)
    assert not (tmp_path / "l").exists()


def test_a_group_that_cannot_be_shown_is_reported_once_and_passed_over(tmp_path: Path):
    same = group_of({"a": "42", "b": "42"}, group_id="same")
    path = groups_file(tmp_path / "g", [same, group_of(ANSWERS, group_id="good")])
    said: list[InputError] = []
    session = session_of(opened(path), tmp_path / "l", on_error=said.append)
    for _ in range(2):
        found = session.next()
        assert (found["total"], len(found["group"]["candidates"])) == (1, 4)
    (error,) = map(str, said)
    assert error.startswith(f"{path}: ")
    assert "nothing to rank" in error


def test_a_label_of_texts_that_changed_since_is_shown_as_such(tmp_path: Path):
    old = label_of(group_of(ANSWERS | {"right": "old"}), "ann", dict(zip(ANSWERS, (1, 2, 3, 4), strict=True)))
    label_file(tmp_path / "l").append(old)
    index = opened(groups_file(tmp_path / "g", [group_of(ANSWERS)]))
    group = session_of(index, tmp_path / "l").previous()["group"]
    assert (group["changed"], group["ranks"]) == (True, None)


CALL = {"id": "toolu_claude", "type": "function", "function": {"name": "look", "arguments": '{"at": 1}'}}


def revealing() -> TrajectoryGroup:
    """A group that names models in every place but the texts."""
    members = tuple(
        Trajectory(
            f"gpt-5-{n}",
            (
                {"role": "assistant", "name": "gpt-5", "content": None, "tool_calls": [CALL], "model": "gpt-5"},
                {"role": "tool", "tool_call_id": "toolu_claude", "name": "look", "content": f"seen {n}"},
                {"role": "assistant", "content": f"answer {n}", "reasoning": f"because {n}"},
            ),
            reward=0.123456, gold=0.654321, metadata={"model": "gpt-5"}, extra={"judge": "gpt-5"},
        )
        for n in range(4)
    )  # fmt: skip
    return TrajectoryGroup(
        "prompt-for-gpt-5", members, context=({"role": "user", "content": "Look."},), extra={"by": "gpt-5"}
    )


def test_ids_models_rewards_and_gold_are_not_in_the_pages_data():
    text = json.dumps(blinded(revealing(), "ann").page)
    assert [one for one in ("gpt-5", "toolu", "0.123456", "0.654321", "prompt-for") if one in text] == []
    assert [one for one in ("Look.", "look", "seen 3", "answer 0", "because 2") if one not in text] == []


def test_the_order_depends_on_annotator_and_group_alone():
    group = revealing()
    assert blinded(group, "ann").order == blinded(group, "ann").order
    assert len({blinded(group, f"annotator {n}").order for n in range(20)}) > 10
    others = (group_of({n: n for n in "abcd"}, group_id=f"g{k}") for k in range(20))
    assert len({blinded(one, "ann").order for one in others}) > 10


def test_identical_trajectories_are_one_candidate_and_share_the_rank():
    seen = blinded(group_of({"a": "same", "b": "other", "c": "same"}), "ann")
    assert len(seen.order) == 2
    places = [1 if seen.alike[name] == ("b",) else 2 for name in seen.order]
    assert seen.ranks(places) == {"a": 2, "b": 1, "c": 2}
    assert seen.by_place(seen.ranks(places)) == places
