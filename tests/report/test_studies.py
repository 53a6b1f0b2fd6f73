"""Studies on the page: the study's own curves, figures and checks, and what is missing, failed or not read."""

import json
from pathlib import Path

import pytest

from calipers.errors import InputError
from calipers.report.runs.shapes import MOST_POINTS
from calipers.report.runs.studies import study_of
from calipers.study.curves import read_curves
from calipers.study.intervals import estimate
from reported import data_of, report_of
from reported_runs import simulation_file, training_folder

RECORDS = Path(__file__).parents[2] / "docs" / "study-data"
FAIR, EARLY = "fair", "early, arrival"
ALL = [(name, seed) for name in (FAIR, EARLY) for seed in range(3)]


def test_a_record_has_the_curves_and_differences_of_the_study():
    study = study_of(str(RECORDS / "order.json"))
    assert (study["valid"], len(study["checks"]), study["failed"], study["lacks"]) == (True, 3, [], [])
    names = [one["name"] for one in study["arms"]]
    assert len(names) == 28
    over = read_curves(str(RECORDS / "order.json"), over="kl")
    (chart,) = [one for one in study["charts"] if (one["over"], one["curve"]) == ("kl", "truth")]
    arm = over.arms[5]
    (line,) = [one for one in chart["lines"] if one["arm"] == 5]
    expected = estimate([row[-1] for row in arm.runs["truth"] if row[-1] is not None])
    assert line["at"][-1] == pytest.approx(arm.at[-1], rel=1e-4)
    assert line["mean"][-1] == pytest.approx(expected.mean, rel=1e-4)
    assert line["half"][-1] == pytest.approx(expected.half_width, rel=1e-4)
    (length,) = [one for one in study["figures"] if one["figure"] == "length"]
    (found,) = [one for one in length["differences"] if names[one["arm"]] == "arrival early"]
    assert (round(found["mean"], 2), round(found["half_width"], 2), found["n"], found["clear"]) == (
        -4.51,
        0.32,
        20,
        True,
    )


def test_a_folder_of_finished_runs_has_results_without_its_result_file(tmp_path: Path):
    study = study_of(str(training_folder(tmp_path / "study", finished=ALL)))
    assert (study["title"], study["name"]) == ("Two judges", "study")
    assert [one["runs"] for one in study["arms"]] == [3, 3]
    (chart,) = [one for one in study["charts"] if (one["over"], one["split"], one["curve"]) == ("step", "", "length")]
    (difference,) = chart["differences"]
    assert difference["at"] == [0, 1, 2, 3]
    assert difference["mean"] == pytest.approx([0, -1, -2, -3])
    (figure,) = [one for one in study["figures"] if one["figure"] == "length"]
    assert figure["differences"][0]["mean"] == pytest.approx(-2.5)
    assert study["lacks"] == ["The study is not finished: 6 of 6 runs are."]


def test_an_unfinished_study_says_what_it_lacks_and_what_failed(tmp_path: Path):
    folder = training_folder(tmp_path, finished=[(FAIR, 0), (FAIR, 1)], failed=[(EARLY, 0)])
    study = study_of(str(folder))
    assert study["lacks"] == [
        "The study is not finished: 2 of 6 runs are.",
        f"No finished run, and so no curve: {EARLY}.",
    ]
    assert study["failed"] == [{"run": f"{EARLY}, seed 0", "why": "OSError: the disk is full"}]
    assert study["valid"] is None
    over_kl = [one for one in study["charts"] if one["over"] == "kl"]
    assert [line["arm"] for line in over_kl[0]["lines"]] == [0], "the arm that failed does not hide the other"
    assert all(not one["differences"] for one in study["figures"])


def test_an_error_that_may_quote_anything_is_left_out_of_a_redacted_page(tmp_path: Path):
    folder = training_folder(tmp_path / "study", finished=[(FAIR, 0)], failed=[(EARLY, 0)])
    (study,) = data_of(report_of(tmp_path, folder, redact=True))["study"]
    assert study["failed"] == [{"run": f"{EARLY}, seed 0", "why": None}]


def test_a_study_without_any_run_is_a_study_without_curves(tmp_path: Path):
    study = study_of(str(training_folder(tmp_path, finished=[])))
    assert (study["charts"], study["figures"]) == ([], [])
    assert f"No finished run, and so no curve: {FAIR}, {EARLY}." in study["lacks"]


def test_runs_that_are_newer_than_the_results_are_told(tmp_path: Path):
    folder = training_folder(tmp_path, finished=ALL)
    arms = [{"name": FAIR, "against": None, "runs": [0], "figures": {}, "differences": {},
             "curves": {"step": [0], "truth": [[0.5]]}, "held_out": {"step": [0], "truth": [[0.5]]}}]  # fmt: skip
    results = {"format": "calipers-training/1", "title": "", "arms": arms}
    (folder / "results.json").write_text(json.dumps(results), encoding="utf-8")
    assert "5 finished runs are newer than results.json" in study_of(str(folder))["lacks"][0]


def test_a_simulation_has_its_curves_over_steps_and_over_kl(tmp_path: Path):
    study = study_of(str(simulation_file(tmp_path / "sim.json")))
    assert (study["engine"], study["valid"], study["checks"]) == ("simulation", None, [])
    assert {(one["over"], one["curve"]) for one in study["charts"]} == {
        ("step", "truth"), ("step", "kl"), ("step", "reward"), ("kl", "truth"), ("kl", "reward"),
    }  # fmt: skip
    (reward,) = [one for one in study["charts"] if (one["over"], one["curve"]) == ("step", "reward")]
    assert reward["lines"][0]["at"] == [0, 1], "what was not measured is not drawn"


def test_a_long_study_has_points_that_are_means_of_steps(tmp_path: Path):
    study = study_of(str(simulation_file(tmp_path / "sim.json", steps=3 * MOST_POINTS)))
    (truth,) = [one for one in study["charts"] if (one["over"], one["curve"]) == ("step", "truth")]
    line = truth["lines"][0]
    assert (len(line["at"]), line["at"][0]) == (MOST_POINTS, 1.0)
    assert line["mean"][0] == pytest.approx(0.605)
    assert "Each point of a curve is the mean of 3 consecutive steps of a run." in study["lacks"]


@pytest.mark.parametrize(("content", "message"), [
    ("[", "is not JSON"),
    ('{"format": "calipers-training/9", "arms": []}', "its format is 'calipers-training/9'; this version"),
    ('{"format": "calipers-training/1", "arms": []}', 'has no "arms"'),
    (('{"format": "calipers-training/1", "arms": [{"name": "a", "curves": {"step": [0], "x": [[1]]}, '
      '"figures": {"x": {"mean": 1}}}]}'), "arm 'a': figures.x: needs a number as its mean, and the number n"),
])  # fmt: skip
def test_a_file_that_is_no_study_is_named(tmp_path: Path, content: str, message: str):
    (tmp_path / "results.json").write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=message) as caught:
        study_of(str(tmp_path))
    assert "results.json" in str(caught.value)


def test_settings_that_cannot_be_read_name_the_folder(tmp_path: Path):
    folder = training_folder(tmp_path, finished=[(FAIR, 0)])
    (folder / "study.toml").write_text("steps = 'many'\n", encoding="utf-8")
    with pytest.raises(InputError, match="is not finished, and its runs cannot be read"):
        study_of(str(folder))


def test_studies_of_one_file_name_are_told_apart(tmp_path: Path):
    files = []
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        files.append(simulation_file(tmp_path / name / "results.json"))
    data = data_of(report_of(tmp_path, *files))
    assert [one["name"] for one in data["study"]] == ["first/results.json", "second/results.json"]
