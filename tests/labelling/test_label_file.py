"""Labels: on the disk once they are confirmed, the agreement of annotators, and gold."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.errors import ConfigError, InputError
from calipers.inputs import read_groups
from calipers.labelling.agreement import agreement, coincidences, combined, gold_lines, krippendorff_alpha
from calipers.labelling.labels import Label, LabelFile, StaleLabelError, label_from
from groups import group_of
from labelled import ANSWERS, fail, groups_file, label_file, label_of, opened

ONE = {"a": 1, "b": 2, "c": None}


def test_a_label_is_read_back_as_it_was_and_lines_that_are_no_labels_are_refused(tmp_path: Path):
    label = label_of("g", "ann", ONE, shown=("b", "a", "c"), note="tie?\nno")
    assert label_file(tmp_path / "l").append(label, based_on=0) == 1
    again = label_file(tmp_path / "l")
    assert (again.current("ann", "g"), again.labels()) == ((label, 1), [label])
    for change in ({"ranks": {"a": 0}}, {"shown": "ab"}, {"note": None}, {"annotator": 3}, {"format": "x"}):
        with pytest.raises(InputError, match="label" if "format" in change else next(iter(change))):
            label_from(label.to_dict() | change)
    with pytest.raises(ConfigError, match="cannot be written"):
        label_file(tmp_path / "none" / "l").append(label)
    for text in ('{"group_id": "g", "trajectories": []}\n', "a,b\n", "no line break"):
        (tmp_path / "other").write_text(text)
        with pytest.raises(ConfigError, match="is not a file of calipers label"):
            label_file(tmp_path / "other")
        assert (tmp_path / "other").read_text() == text


def test_the_last_label_counts_and_one_based_on_an_older_one_is_refused(tmp_path: Path):
    one, other = label_file(tmp_path / "l"), label_file(tmp_path / "l")
    first, second = label_of("g", "ann", {"a": 1, "b": 2}), label_of("g", "ann", {"a": 2, "b": 1})
    one.append(first, based_on=0)
    with pytest.raises(StaleLabelError) as caught:
        other.append(second, based_on=0)
    assert (caught.value.revision, other.current("ann", "g")[0]) == (1, first)
    assert other.append(first, based_on=0) == 1  # the same label again is one whose confirmation got lost
    assert other.append(second, based_on=1) == 2
    other.append(label_of("g", "ann", None), based_on=2)
    assert (other.current("ann", "g"), label_file(tmp_path / "l").labels()) == ((None, 3), [])
    assert len((tmp_path / "l").read_text().splitlines()) == 3


def writer(path: Path, name: str, count: int, *, largest: int = 10**9) -> subprocess.Popen[str]:
    """A process that appends labels to a file until it has ``count`` or the file would get too large; it prints how
    many it saved, and why it ended.
    """
    script = f"""
import resource
from pathlib import Path
from calipers.errors import ConfigError
from calipers.labelling.labels import Label, LabelFile
resource.setrlimit(resource.RLIMIT_FSIZE, ({largest}, {largest}))
file = LabelFile(Path({str(path)!r}), on_error=print)
for number in range({count}):
    try:
        file.append(Label(f"g{{number}}", {name!r}, "t", "", {{"a": 1, "b": 2}}, note="x" * 30), based_on=0)
    except ConfigError as error:
        print(number, error)
        break
"""
    return subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)


def test_two_processes_lose_nothing(tmp_path: Path):
    path = tmp_path / "l"
    writers = [writer(path, name, 40) for name in ("ann", "ben")]
    for n in range(20):
        label_file(path).append(label_of(f"g{n}", "eve", ONE))
    assert [(one.communicate(timeout=60)[0], one.returncode) for one in writers] == [("", 0)] * 2
    found = label_file(path)
    assert {name: len(found.of(name)) for name in ("ann", "ben", "eve")} == {"ann": 40, "ben": 40, "eve": 20}


def test_a_line_that_a_crash_cut_off_is_reported_and_swallows_no_other(tmp_path: Path):
    path = tmp_path / "l"
    label_file(path).append(label_of("g0", "ann", ONE))
    with path.open("ab") as stream:
        stream.write(b'{"format":"calipers-label/1","group_id":"g1","anno')
    said: list[str] = []
    file = LabelFile(path, on_error=lambda error: said.append(str(error)))
    assert said == []  # another process may still be writing it
    file.append(label_of("g2", "ann", ONE))
    assert [one.startswith(f"{path}:2: is not a whole label") for one in said] == [True]
    assert list(LabelFile(path, on_error=lambda _: None).of("ann")) == ["g0", "g2"]
    path.write_bytes(b'{"form')  # the first line, cut off
    LabelFile(path, on_error=lambda _: None).append(label_of("g", "ann", ONE))
    assert list(LabelFile(path, on_error=lambda _: None).of("ann")) == ["g"]


def test_a_label_that_does_not_fit_on_the_disk_is_an_error_and_leaves_no_trace(tmp_path: Path):
    path = tmp_path / "l"
    saved, _, error = writer(path, "ann", 50, largest=1000).communicate(timeout=60)[0].partition(" ")
    assert error == f"--labels {path}: cannot be written: {os.strerror(27)}\n"
    lines = path.read_text().splitlines()
    assert len(lines) == int(saved) > 2
    assert all(isinstance(label_from(json.loads(line)), Label) for line in lines)
    assert path.read_bytes().endswith(b"\n")


def test_a_label_is_flushed_to_the_disk_before_it_is_confirmed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", lambda file: synced.append(os.fstat(file).st_size))
    label_file(tmp_path / "l").append(label_of("g", "ann", ONE))
    assert synced[-1] == (tmp_path / "l").stat().st_size > 0


# --- agreement, and the gold of labels --------------------------------------------------------------------------------

# Krippendorff, "Computing Krippendorff's Alpha-Reliability" (2011): four observers, twelve units, values 1 to 5.
OBSERVED = ("1 2 3 3 2 1 4 1 2 . . .", "1 2 3 3 2 2 4 1 2 5 . 3", ". 3 3 3 2 3 4 2 2 5 1 .", "1 2 3 3 2 4 4 1 2 5 1 .")


def test_alpha_is_the_published_one():
    units = [[int(one) - 1 for one in column if one != "."] for column in zip(*map(str.split, OBSERVED), strict=True)]
    assert krippendorff_alpha(coincidences(units, 5)) == pytest.approx(0.815, abs=5e-4)
    assert krippendorff_alpha(coincidences([[1, 1], [1, 1]], 3)) is None  # no disagreement could be expected
    alone = agreement([label_of("g", "ann", ranks("ab"))])
    assert (alone.alpha.value, alone.alpha.interval, alone.annotators[0].alpha.value) == (None, None, None)


def ranks(order: str) -> dict[str, int | None]:
    return {name: place for place, name in enumerate(order, 1)}


def test_equal_rankings_agree_perfectly_and_reversed_ones_not_at_all():
    def labels(who: str, given_ranks: dict[str, int | None]) -> list[Label]:
        return [label_of(f"g{n}", who, given_ranks) for n in range(6)]

    ann = labels("ann", ranks("abcd"))
    assert agreement([*ann, *labels("ben", ranks("abcd"))]).alpha.value == 1
    assert (agreement([*ann, *labels("ben", ranks("dcba"))]).alpha.value or 0) < -0.9
    unsure = agreement([*ann, *labels("ben", {"a": 1, "b": 2, "c": None, "d": None})])
    assert (unsure.alpha.value, [one.cant_tell for one in unsure.annotators]) == (1, [0, 12])  # is no disagreement


def test_rankings_by_chance_have_an_alpha_of_about_zero_also_in_groups_of_different_sizes():
    chance = random.Random(0)
    labels = [
        label_of(f"g{number}", annotator, ranks("".join(chance.sample(names, len(names)))))
        for number in range(400)
        for names in ("abcdefgh"[: 3 + 5 * (number % 2)],)
        for annotator in ("ann", "ben")
    ]
    found = agreement(labels).alpha
    assert found.value == pytest.approx(0, abs=0.03)
    low, high = found.interval or (1.0, 1.0)
    assert low < 0 < high


def test_gold_is_the_share_of_comparisons_won_and_what_nobody_can_tell_has_none():
    cases: list[tuple[list[dict[str, int | None]], dict[str, float | None]]] = [
        ([{"a": 1, "b": 2, "c": 3}], {"a": 1.0, "b": 0.5, "c": 0.0}),
        ([{"a": 1, "b": 1, "c": 2}], {"a": 0.75, "b": 0.75, "c": 0.0}),
        ([ranks("abc"), ranks("bac")], {"a": 0.75, "b": 0.75, "c": 0.0}),
        ([{"a": 1, "b": 2, "c": None}], {"a": 1.0, "b": 0.0, "c": None}),
        ([{"a": 1, "b": None}], {"a": None, "b": None}),
        ([], {}),
    ]
    for given_ranks, gold in cases:
        assert combined([label_of("g", f"who{n}", one) for n, one in enumerate(given_ranks)]) == gold


@given(st.lists(st.lists(st.sampled_from([None, 1, 2, 3]), min_size=4, max_size=4), min_size=1, max_size=3))
def test_gold_is_between_0_and_1_whoever_says_what_and_in_any_order(given_ranks: list[list[int | None]]):
    labels = [label_of("g", f"who{n}", dict(zip("abcd", one, strict=True))) for n, one in enumerate(given_ranks)]
    found = combined(labels)
    assert all(value is None or 0 <= value <= 1 for value in found.values())
    assert all(combined(order) == found for order in permutations(labels))
    if all((label.ranks or {})["a"] == (label.ranks or {})["b"] for label in labels):
        assert found["a"] == found["b"], "a tie of all is no tie"


def ranked_by(*order: str) -> dict[str, int | None]:
    return dict.fromkeys(ANSWERS) | {name: place for place, name in enumerate(order, 1)}


def lines_of(path: Path, labels: list[Any], **options: Any) -> list[dict[str, Any]]:
    return list(gold_lines(opened(path), labels, **{"on_error": fail} | options))


def test_gold_annotator_and_time_are_in_a_groups_file(tmp_path: Path):
    groups = [group_of(ANSWERS, group_id=f"g{n}") for n in range(3)]
    labels = [
        label_of(groups[1], "ann", ranked_by("right", "close", "far"), note="easy"),
        label_of(groups[1], "ben", ranked_by("close", "right"), time="2026-01-02T00:00:00.000Z"),
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
    old = replace(group, trajectories=tuple(replace(one, gold=0.5) for one in group.trajectories))
    path = groups_file(tmp_path / "g", [old])
    assert lines_of(path, [label_of(group, "ann", ranked_by())]) == []
    (line,) = lines_of(path, [label_of(group, "ann", ranked_by("far", "right"))])
    assert [one["gold"] for one in line["trajectories"]] == [0.0, None, 1.0, None]


def test_labels_of_changed_texts_and_of_other_groups_do_not_count_and_are_reported(tmp_path: Path):
    group = group_of(ANSWERS)
    labels = [
        label_of(group_of(ANSWERS | {"far": "8"}), "ann", ranked_by("far", "right")),
        label_of(group, "ben", ranked_by("right", "far")),
        label_of("stranger", "ben", ranked_by("right", "far")),
    ]
    said: list[str] = []
    path = groups_file(tmp_path / "g", [group])
    (line,) = lines_of(path, labels, on_error=lambda error: said.append(str(error)))
    assert [one["annotator"] for one in line["labels"]] == ["ben"]
    assert len(said) == 2
    assert "'stranger', which is not in" in said[0]
    assert said[1].startswith(f"{path}: the texts of the group 'g' have changed since it was labelled (ann)")
