"""Curves are read from a study's result file, or the file and what is wrong with it are named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from calipers.errors import InputError
from calipers.study.curves import curves_of, measured_names, paired, read_curves

ARM = {"name": "clean", "against": None, "curves": {"step": [0, 1], "truth": [[0.5, 0.6], [0.4, None]]}}


def written(tmp_path: Path, content: Any) -> str:
    path = tmp_path / "r.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return str(path)


def test_a_run_is_a_row_and_what_was_not_measured_is_none(tmp_path: Path) -> None:
    study = read_curves(written(tmp_path, {"title": "a study", "arms": [ARM]}))
    (arm,) = study.arms
    assert (study.title, arm.name, arm.against, arm.at) == ("a study", "clean", None, (0, 1))
    assert arm.runs["truth"] == ((0.5, 0.6), (0.4, None))


def test_names_are_those_that_every_arm_has(tmp_path: Path) -> None:
    other = {"name": "b", "curves": {"step": [0], "length": [[3]], "truth": [[0.5]]}}
    assert read_curves(written(tmp_path, {"arms": [other, ARM]})).names == ("truth",)


@pytest.mark.parametrize(("content", "words"), [
    ("{", "is not a result file of calipers study"),
    ([], 'it has no "arms"'),
    ({"arms": []}, 'it has no "arms"'),
    ({"arms": [{"curves": {}}]}, r'arms\[0\]: an arm needs a "name" and "curves"'),
    ({"arms": [ARM, {"name": "b"}]}, r'arms\[1\]: an arm needs a "name" and "curves"'),
    ({"arms": [{"name": "b", "curves": {"truth": [[1]]}}]}, r"arms\[0\]\.curves\.step: is missing"),
    ({"arms": [{"name": "b", "curves": {"step": [0, "x"], "truth": [[1, 1]]}}]}, "holds what is not a number"),
    ({"arms": [{"name": "b", "curves": {"step": [0], "truth": [[1, 2]]}}]}, r"curves\.truth: must be .* each with 1 "),
    ({"arms": [{"name": "b", "curves": {"step": [0], "truth": []}}]}, r"curves\.truth: must be a list of runs"),
    ({"arms": [{"name": "b", "curves": {"step": [0], "truth": [[0], ["3"]]}}]}, r"truth\[1\]\[0\]: '3' is no number"),
    ({"arms": [{"name": "b", "curves": {"step": [0], "truth": [[True]]}}]}, r"truth\[0\]\[0\]: True is no number"),
    ('{"arms": [{"name": "b", "curves": {"step": [0], "truth": [[NaN]]}}]}', "nan is no number; what was not measured"),
    ({"format": "calipers-training/2", "arms": [ARM]}, "format 'calipers-training/2' is none of calipers-simulation/1"),
    ({"format": 3, "arms": [ARM]}, "its format 3 is none of"),
    ({"arms": [ARM, ARM]}, r"arms\[1\]: another arm has the name 'clean', too"),
    ({"arms": [ARM, {**ARM, "name": "b", "against": "clear"}]}, r"arms\[1\]\.against: there is no other arm 'clear'"),
    ({"arms": [{**ARM, "against": "clean"}]}, r"arms\[0\]\.against: there is no other arm 'clean'"),
    ({"arms": [{**ARM, "against": 3}]}, r"arms\[0\]\.against: there is no other arm 3"),
    ("[" * 100_000, "it is nested too deeply"),
    ("9" * 5000, "a number in it has thousands of digits"),
    ('{"a":\n]', "it is not JSON: Expecting value in line 2, column 1"),
])  # fmt: skip
def test_a_file_that_is_no_result_is_refused_by_name(tmp_path: Path, content: Any, words: str) -> None:
    path = written(tmp_path, content)
    with pytest.raises(InputError, match=words) as told:
        read_curves(path)
    assert str(told.value).startswith(path)


def test_a_binary_file_is_refused_in_words(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    path.write_bytes(b"\x89PNG\r\n\x1a\n")
    with pytest.raises(InputError, match=r"is not a result file of calipers study: it is not UTF-8 text$"):
        read_curves(str(path))


def test_a_missing_file_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nothing\.json: cannot be read \(No such file"):
        read_curves(str(tmp_path / "nothing.json"))


def test_runs_are_paired_by_their_place_and_unknown_points_stay_unknown() -> None:
    assert paired([(1.0, None), (3.0, 4.0)], [(0.5, 1.0), (1.0, None)]) == ((0.5, None), (2.0, None))
    with pytest.raises(ValueError, match="zip"):
        paired([(1.0,)], [(1.0,), (2.0,)])


TRAINED = {
    "name": "clean",
    "curves": {"step": [0, 1], "truth": [[0.5, 0.6], [0.4, None]]},
    "held_out": {"step": [0, 2], "truth": [[0.5, 0.7], [0.5, 0.9]], "kl": [[0, 0.2], [0, 0.4]]},
}


def test_curves_of_held_out_prompts_are_drawn_against_the_mean_of_what_is_measured_beside_them() -> None:
    study = curves_of({"arms": [TRAINED]}, "r.json", over="kl")
    (arm,) = study.arms
    assert (study.over, study.names) == ("kl", ("truth", "kl"))
    assert arm.at == pytest.approx((0, 0.3))
    assert arm.runs["truth"] == ((0.5, 0.7), (0.5, 0.9))
    assert curves_of({"arms": [TRAINED]}, "r.json").arms[0].at == (0, 1)


def test_a_record_without_curves_of_steps_has_those_of_held_out_prompts() -> None:
    recorded = {name: value for name, value in TRAINED.items() if name != "curves"}
    assert curves_of({"arms": [recorded]}, "r.json").arms[0].at == (0, 2)


def test_curves_of_held_out_prompts_over_steps_have_the_names_of_their_figures() -> None:
    recorded = {name: value for name, value in TRAINED.items() if name != "curves"}
    for arm in (TRAINED, recorded):
        study = curves_of({"arms": [arm]}, "r.json", held_out=True)
        assert study.names == ("held_out_truth", "held_out_kl")
        assert study.arms[0].at == (0, 2)
        assert study.arms[0].runs["held_out_truth"] == ((0.5, 0.7), (0.5, 0.9))
    with pytest.raises(InputError, match='an arm needs a "name" and "held_out", which only training has'):
        curves_of({"arms": [ARM]}, "r.json", held_out=True)


def test_a_curve_is_measured_if_some_run_has_a_number() -> None:
    rows = {"step": [0, 1], "truth": [[0.5, None]], "audit": [[None, None]]}
    arms = [{"name": "a", "curves": rows}, {"name": "b", "against": "a", "curves": {**rows, "truth": [[None, 1]]}}]
    study = curves_of({"arms": arms}, "r.json")
    assert measured_names(study) == measured_names(study, arms=["b"]) == {"truth"}
    assert measured_names(study, compared=True) == set()  # no step has a number in both runs


def test_what_curves_cannot_be_drawn_against_is_said() -> None:
    with pytest.raises(InputError, match=r"r\.json: arms\[0\]\.held_out: has no 'calls' to draw curves against"):
        curves_of({"arms": [TRAINED]}, "r.json", over="calls")
    unknown = {**TRAINED, "held_out": {"step": [0, 2], "kl": [[0, None], [0, None]]}}
    with pytest.raises(InputError, match="kl: was not measured at every point"):
        curves_of({"arms": [unknown]}, "r.json", over="kl")
