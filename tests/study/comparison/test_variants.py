"""Each answer is shown rewritten beside others as they are; a user's own rewrites are read from files or metadata."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from calipers.errors import InputError
from calipers.study.comparison.variants import (
    answer_of,
    middle_of_gold,
    rewritten_answers,
    texts_from_column,
    texts_from_file,
    variants_of,
)
from calipers.types import Trajectory
from compared_groups import compared_groups

GROUPS = compared_groups(3, 5)


def test_every_member_is_rewritten_once_and_left_once() -> None:
    texts = rewritten_answers("verbose", GROUPS, wrong_below=None)
    first, second = variants_of(GROUPS[0], "verbose", texts, halves=True)
    assert first.rewritten == {"a0", "a2", "a4"}
    assert second.rewritten == {"a1", "a3"}
    for variant in (first, second):
        for before, after in zip(GROUPS[0].trajectories, variant.group.trajectories, strict=True):
            changed = answer_of(after) != answer_of(before)
            assert changed == (before.id in variant.rewritten)
            assert (after.gold, after.metadata) == (before.gold, before.metadata)


def test_only_wrong_answers_are_made_confident_where_asked_for() -> None:
    texts = rewritten_answers("confident_wrong", GROUPS, wrong_below=middle_of_gold(GROUPS))
    wrong = {(group.group_id, one.id) for group in GROUPS for one in group.trajectories if one.gold == 0}
    assert set(texts) == wrong


def test_a_trajectory_without_an_answer_has_no_rewrite() -> None:
    silent = replace(
        GROUPS[0], trajectories=(Trajectory("a", ({"role": "user", "content": "hm"},)), Trajectory("b", ()))
    )
    assert rewritten_answers("verbose", [silent], wrong_below=None) == {}


def test_the_last_text_of_a_message_with_parts_is_rewritten() -> None:
    parts: list[dict[str, Any]] = [{"type": "text", "text": "See:"}, {"type": "image_url", "image_url": {"url": "x"}},
             {"type": "text", "text": "It is blue."}]  # fmt: skip
    group = replace(GROUPS[0], trajectories=(Trajectory("a", ({"role": "assistant", "content": parts},)),))
    texts = rewritten_answers("sycophantic", [group], wrong_below=None)
    (variant,) = variants_of(group, "sycophantic", texts, halves=True)
    shown = variant.group.trajectories[0].messages[0]["content"]
    assert isinstance(shown, list)
    assert [one.get("text", "") for one in shown][:2] == ["See:", ""]
    assert "It is blue." in shown[2]["text"]
    assert parts[2]["text"] == "It is blue."


def test_rewrites_of_the_users_own_are_read(tmp_path: Path) -> None:
    assert texts_from_column("polite", GROUPS)["g0", "a0"].startswith("Here you are.")
    file = tmp_path / "own.jsonl"
    file.write_text(json.dumps({"group_id": "g1", "id": "a2", "text": "Other words."}), encoding="utf-8")
    assert texts_from_file(file, GROUPS) == {("g1", "a2"): "Other words."}


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({"group_id": "g1", "id": "a2"}, "'text' must hold the rewritten answer"),
        ({"group_id": "g1", "id": "zz", "text": "x"}, "no trajectory 'zz' of a group 'g1'"),
        ({"group_id": ["g1"], "id": "a2", "text": "x"}, "no trajectory 'a2'"),
        ("nonsense", "not JSON"),
    ],
)
def test_a_bad_line_of_rewrites_is_named(tmp_path: Path, row: object, problem: str) -> None:
    file = tmp_path / "own.jsonl"
    file.write_text(f"{row if isinstance(row, str) else json.dumps(row)}\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"own\.jsonl:1") as found:
        texts_from_file(file, GROUPS)
    assert problem in str(found.value)


def test_an_answer_that_is_rewritten_twice_is_refused(tmp_path: Path) -> None:
    row = json.dumps({"group_id": "g1", "id": "a2", "text": "x"})
    (tmp_path / "own.jsonl").write_text(f"{row}\n{row}\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"own\.jsonl:2: .*a second time"):
        texts_from_file(tmp_path / "own.jsonl", GROUPS)


def test_a_column_that_nobody_has_is_refused() -> None:
    with pytest.raises(InputError, match="no trajectory of the groups has metadata 'rude'"):
        texts_from_column("rude", GROUPS)
