"""Calibrations and profiles are known by their content, and what a file lacks is None."""

import json
from pathlib import Path
from typing import Any

import pytest
from calipers.study.profiles.files import write_profile

from calipers.errors import InputError
from calipers.report.judge_files import is_judge_file, read_judge_file
from calipers.study.profiles.named import shipped_profile
from reported import calibration_file, member, result_of, write_lines


def write(path: Path, value: Any, **options: Any) -> str:
    path.write_text(json.dumps(value, **options), encoding="utf-8")
    return str(path)


def test_a_calibration_is_read_with_its_figures(tmp_path: Path):
    path = calibration_file(tmp_path / "c.json")
    found = read_judge_file(str(path))
    told = json.loads(path.read_text(encoding="utf-8"))
    assert is_judge_file(str(path))
    assert found["kind"] == "calibration"
    for judge, said in zip(found["judges"], told["judges"], strict=True):
        assert judge["figures"]["fidelity"] == [said["advantage_fidelity"], *said["advantage_fidelity_interval"]]
        assert len(judge["by_calls"]) == len(said["by_calls"]) == 8
        assert [one[0] for one in judge["bins"]] == [one["stated"] for one in said["stderr_bins"]]
        assert judge["cost"]["cost_usd"] == pytest.approx(0.008)
    assert found["panel"]["votes"] == told["panel"]["effective_votes"]
    assert len(found["ways"]) == len(told["ways"])
    frontier = found["frontier"]
    assert told["search"]["measure"] == "usd"
    assert (frontier["measure"], frontier["chosen"]) == ("cost_usd", told["search"]["name"])
    for way, said in zip(frontier["ways"], told["search"]["frontier"], strict=True):
        assert way["name"] == said["name"]
        assert way["cost"]["cost_usd"] == said["cost"]["cost_usd"]
        assert way["fidelity"] == [said["advantage_fidelity"], *said["advantage_fidelity_interval"]]
        assert way["held_out"] == [said["held_out_fidelity"], *said["held_out_interval"]]


def test_sorted_and_indented_calibrations_are_known_too(tmp_path: Path):
    told = json.loads(calibration_file(tmp_path / "c.json", calls=2).read_text(encoding="utf-8"))
    assert is_judge_file(write(tmp_path / "sorted.json", told, indent=2, sort_keys=True))


def test_a_profile_is_read_with_the_reason_for_what_it_does_not_know(tmp_path: Path):
    write_profile(tmp_path / "p.json", shipped_profile("posbias-gemini-pro"))
    found = read_judge_file(str(tmp_path / "p.json"))
    (judge,) = found["judges"]
    assert found["kind"] == "profile"
    assert judge["figures"]["fidelity"] == [None, None, None]
    assert judge["unknown"]["fidelity"] == "the groups have no gold"
    assert len(judge["positions"]) == 2


@pytest.mark.parametrize("judge", [{}, {"judge": "old"}, {"judge": 7, "by_calls": [1], "place_curve": {"worth": "x"}}])
def test_what_an_older_file_lacks_is_none(tmp_path: Path, judge: dict[str, Any]):
    found = read_judge_file(write(tmp_path / "old.json", {"judges": [judge]}))
    (read,) = found["judges"]
    assert set(map(tuple, read["figures"].values())) == {(None, None, None)}
    assert (read["by_calls"], read["bins"], read["positions"], read["cost"]) == ([], [], [], None)
    assert (found["panel"], found["ways"], found["findings"], found["recommendation"]) == (None, [], [], None)
    assert found["frontier"] is None


@pytest.mark.parametrize("search", [None, 7, {}, {"frontier": 7}, {"frontier": []}])
def test_a_file_without_a_frontier_has_none(tmp_path: Path, search: Any):
    assert read_judge_file(write(tmp_path / "c.json", {"judges": [], "search": search}))["frontier"] is None


def test_a_damaged_frontier_has_unknown_figures(tmp_path: Path):
    told = {"judges": [], "search": {"frontier": [7, {"cost": 7, "name": [], "held_out_fidelity": "x"}]}}
    found = read_judge_file(write(tmp_path / "c.json", told))["frontier"]
    (way,) = found["ways"]
    assert (way["cost"], way["name"], way["held_out"], way["fidelity"]) == (None, None, [None] * 3, [None] * 3)


def test_numbers_that_are_none_are_unknown_and_names_are_shortened(tmp_path: Path):
    (tmp_path / "c.json").write_text(
        '{"judges": [{"judge": "%s", "advantage_fidelity": NaN, "noise": 1e999, "failure_rate": true}]}' % ("x" * 10**6)
    )
    (judge,) = read_judge_file(str(tmp_path / "c.json"))["judges"]
    assert len(judge["name"]) == 4000
    assert [judge["figures"][key][0] for key in ("fidelity", "noise", "failures")] == [None, None, None]


def test_judges_asked_in_several_ways_are_told_apart(tmp_path: Path):
    judges = [{"judge": "j", "mode": mode, "temperature": 0.5} for mode in ("listwise", "pairwise")]
    found = read_judge_file(write(tmp_path / "c.json", {"judges": [*judges, {"judge": "k"}]}))
    assert [one["name"] for one in found["judges"]] == ["j (listwise, t=0.5)", "j (pairwise, t=0.5)", "k"]


def test_a_calibration_of_criteria_has_f1_and_no_fidelity(tmp_path: Path):
    overall = {"balanced_f1": 0.7, "interval": [0.6, 0.8]}
    judges = [{"judge": "j", "rows": 10, "ungraded": 2, "reasons": {"refused": 2}, "overall": overall}]
    (judge,) = read_judge_file(write(tmp_path / "c.json", {"judges": judges, "among": {}}))["judges"]
    assert judge["figures"] == {"balanced_f1": [0.7, 0.6, 0.8], "failures": [0.2, None, None]}
    assert judge["missing"] == {"refused": 2}
    (redacted,) = read_judge_file(str(tmp_path / "c.json"), redact=True)["judges"]
    assert redacted == judge | {"missing": {}}, "a reason may quote the judge"


@pytest.mark.parametrize(("text", "said"), [
    ('{"judges": 7}', "no list of judges"),
    ('{"judges": [', "is not JSON"),
    ('{"judges": [],\n "panel": }', "is not JSON"),
    ('{"calipers_profile": 99}', "calipers_profile"),
])  # fmt: skip
def test_a_file_that_only_begins_as_one_is_refused_with_the_remedy(tmp_path: Path, text: str, said: str):
    (tmp_path / "bad.json").write_text(text)
    assert is_judge_file(str(tmp_path / "bad.json"))
    with pytest.raises(InputError, match=said) as raised:
        read_judge_file(str(tmp_path / "bad.json"))
    assert "bad.json" in str(raised.value)


def test_results_and_other_things_are_not_judge_files(tmp_path: Path):
    results = write_lines(tmp_path / "r.jsonl", [result_of("g", member("a"), judges=[])])
    assert not is_judge_file(str(results))
    assert not is_judge_file(str(tmp_path))
    assert not is_judge_file(str(tmp_path / "missing"))
    assert not is_judge_file("sqlite:///runs.db")
