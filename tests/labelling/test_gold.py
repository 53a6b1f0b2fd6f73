"""Gold of labels: a groups file that calibrate reads as it is."""

import json
from pathlib import Path
from typing import Any

import pytest

from calipers.inputs import read_groups
from calipers.labelling.agreement import gold_lines
from groups import group_of
from labelled import ANSWERS, fail, groups_file, label_of, opened


def ranked(*order: str) -> dict[str, int | None]:
    return dict.fromkeys(ANSWERS) | {name: place for place, name in enumerate(order, 1)}


def lines_of(path: Path, labels: list[Any], **options: Any) -> list[dict[str, Any]]:
    return list(gold_lines(opened(path), labels, **{"on_error": fail} | options))


def test_gold_annotator_and_time_are_in_a_groups_file(tmp_path: Path):
    groups = [group_of(ANSWERS, group_id=f"g{n}") for n in range(3)]
    labels = [
        label_of(groups[1], "ann", ranked("right", "close", "far"), note="easy"),
        label_of(groups[1], "ben", ranked("close", "right"), time="2026-01-02T00:00:00.000Z"),
    ]
    (line,) = lines_of(groups_file(tmp_path / "g", groups), labels)
    gold = {one["id"]: one["gold"] for one in line["trajectories"]}
    assert gold == {"right": pytest.approx(2 / 3), "close": pytest.approx(2 / 3), "far": 0.0, "silent": None}
    assert [(one["annotator"], one["time"][:10], one["note"]) for one in line["labels"]] == [
        ("ann", "2026-01-01", "easy"), ("ben", "2026-01-02", ""),
    ]  # fmt: skip
    out = tmp_path / "gold.jsonl"
    out.write_text(json.dumps(line) + "\n")
    (again,) = read_groups(out)
    assert [one.gold for one in again.trajectories] == list(gold.values())
    assert [one.messages for one in again.trajectories] == [one.messages for one in groups[1].trajectories]


def test_a_group_without_any_gold_is_left_out_and_old_gold_does_not_stay(tmp_path: Path):
    group = group_of(ANSWERS)
    old = group.to_dict()
    for one in old["trajectories"]:
        one["gold"] = 0.5
    path = tmp_path / "g"
    path.write_text(json.dumps(old) + "\n")
    assert lines_of(path, [label_of(group, "ann", ranked())]) == []
    (line,) = lines_of(path, [label_of(group, "ann", ranked("far", "right"))])
    assert [one["gold"] for one in line["trajectories"]] == [0.0, None, 1.0, None]


def test_labels_of_changed_texts_and_of_other_groups_do_not_count_and_are_reported(tmp_path: Path):
    group = group_of(ANSWERS)
    labels = [
        label_of(group_of(ANSWERS | {"far": "8"}), "ann", ranked("far", "right")),
        label_of(group, "ben", ranked("right", "far")),
        label_of("stranger", "ben", ranked("right", "far")),
    ]
    said: list[str] = []
    path = groups_file(tmp_path / "g", [group])
    (line,) = lines_of(path, labels, on_error=lambda error: said.append(str(error)))
    assert [one["annotator"] for one in line["labels"]] == ["ben"]
    assert len(said) == 2
    assert "'stranger', which is not in" in said[0]
    assert said[1].startswith(f"{path}: the group 'g' was labelled (ann) when its texts were others")
