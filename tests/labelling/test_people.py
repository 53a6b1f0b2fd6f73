"""People as the second opinion of a run: groups go to a file for the label page, and labels come back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from calipers.calibration.measures import fidelity
from calipers.errors import InputError
from calipers.inputs import read_groups
from calipers.judging.recalibration import Recalibration, group_fidelity
from calipers.labelling.blinding import content_of
from calipers.labelling.label_file import LabelFile
from calipers.labelling.labels import Label
from calipers.labelling.people import People
from calipers.types import GroupResult, TrajectoryGroup, TrajectoryResult
from groups import FOUR, group_of
from labelled import fail

SCORES: dict[str, float | None] = {"right": 0.9, "close": 0.6, "far": 0.2, "silent": 0.0}
SCORED = GroupResult("g", "scored", tuple(TrajectoryResult(name, "scored", one, one) for name, one in SCORES.items()))


def group(number: int) -> TrajectoryGroup:
    return group_of(FOUR, group_id=f"g{number}", question=f"{number}?")


def test_fidelity_during_a_run_is_that_of_calibrate():
    scores, gold = [0.1, 0.4, 0.35, 0.8], [0.2, 0.1, 0.9, 0.7]
    by_name: list[Any] = [dict(zip("abcd", values, strict=True)) for values in (scores, gold)]
    assert group_fidelity(*by_name) == pytest.approx(float(fidelity(np.array([scores]), np.array([gold]))[0]))


def test_people_answer_when_they_do_and_later_labels_count(tmp_path: Path):

    file = tmp_path / "people.jsonl"
    people = People(file)
    again = Recalibration(people, share=1.0)
    for _ in range(2):
        again.seen(group(1), SCORED)  # the prompt recurs: another line, with an id of its own
    again.close()
    assert again.summary.groups == 0
    asked = list(read_groups(file))
    assert [one.group_id for one in asked] == ["g1", "g1~2"]
    labels = LabelFile(tmp_path / "people.labels.jsonl", on_error=fail)
    for one, best in zip(asked, ("right", "far"), strict=True):
        ranks = {name: 1 if name == best else 2 for name in FOUR}
        labels.append(Label(one.group_id, "ann", "2026-11-23T10:00:00Z", content_of(one), ranks))
    labels.append(Label("other", "ann", "2026-11-23T10:00:00Z", "x", {"a": 1, "b": 2}))
    with Recalibration(People(file), share=1.0) as later:  # the run goes on in another process
        later.look()
    assert later.summary.groups == 2
    assert later.summary.fidelity is not None
    both = [group_fidelity(SCORES, {name: float(name == best) for name in FOUR}) or 0.0 for best in ("right", "far")]
    assert later.summary.fidelity == pytest.approx(sum(both) / 2)


def test_a_line_that_a_crash_cut_off_swallows_no_later_one_and_a_foreign_file_is_refused(tmp_path: Path):

    file = tmp_path / "people.jsonl"
    People(file).ask(group(1), {"right": 0.9})
    file.write_bytes(file.read_bytes() + b'{"group_id": "g2", "traj')
    people = People(file)
    people.ask(group(3), {"right": 0.1})
    assert [line[:20] for line in file.read_text().splitlines()][1:2] == ['{"group_id": "g2", "']
    assert len(file.read_text().splitlines()) == 3
    foreign = tmp_path / "groups.jsonl"
    foreign.write_text('{"group_id": "x", "trajectories": [{"messages": []}]}\n')
    with pytest.raises(InputError, match=r"groups\.jsonl:1: is no group that a recalibration added"):
        People(foreign)
