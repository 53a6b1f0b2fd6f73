"""The result table of a study on a cluster, from what its scripts leave."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from calipers.cli import main
from calipers.errors import ConfigError
from calipers.study.export.checking import checked_plan
from calipers.study.export.results import TableRow, read_results
from calipers.study.export.writing import plan_files, write_plan
from study.export.tomls import study

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An exported study with two arms, two recipes and three seeds."""
    monkeypatch.setattr("calipers.study.export.checking.is_verl_here", lambda: False)
    path = tmp_path / "study.toml"
    path.write_text(study('seeds = 3\nrecipes = ["rubric-rl", "ruscarl"]'), encoding="utf-8")
    plan, text, _ = checked_plan(str(path))
    write_plan(plan_files(plan, text), tmp_path / "cluster")
    return tmp_path / "cluster"


def leave(folder: Path, run: str, *, scores: Sequence[float | None] = (), strict: float | None = None) -> None:
    there = folder / "results" / run
    there.mkdir(parents=True, exist_ok=True)
    if scores:
        lines = [{"group_id": str(number), "trajectories": [{"score": one}]} for number, one in enumerate(scores)]
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (there / "verinstruct.scores.jsonl").write_text(text, encoding="utf-8")
    if strict is not None:
        found = {"prompt_strict": strict, "inst_strict": strict, "prompt_loose": 1.0}
        (there / "ifeval.json").write_text(json.dumps(found), encoding="utf-8")


def row(rows: Sequence[TableRow], arm: str, recipe: str) -> TableRow:
    (found,) = (one for one in rows if (one.arm, one.recipe) == (arm, recipe))
    return found


def test_figures_are_means_over_seeds_and_differences_are_paired_with_the_arm_of_the_file(folder: Path) -> None:
    leave(folder, "base", scores=[0.2, 0.4], strict=0.5)
    for seed, score in enumerate([0.5, 0.6, 0.7]):
        leave(folder, f"gpt-rubric-rl-{seed}", scores=[score], strict=0.7)
        leave(folder, f"big-no-std-rubric-rl-{seed}", scores=[score + 0.1])
    leave(folder, "gpt-ruscarl-1", scores=[0.9])
    found = read_results(folder)
    assert found.columns == ("IFEval, prompts", "IFEval, instructions", "verinstruct")
    assert row(found.rows, "base", "").figures["verinstruct"].value.mean == pytest.approx(0.3)
    first, second = (row(found.rows, arm, "rubric-rl") for arm in ("gpt", "big, no std"))
    assert first.figures["verinstruct"].value.mean == pytest.approx(0.6)
    assert first.figures["verinstruct"].value.half_width == pytest.approx(0.2484, abs=1e-4)  # t(2) 4.3027 * .1 / sqrt 3
    assert (first.against, first.figures["verinstruct"].difference) == ("", None)
    difference = second.figures["verinstruct"].difference
    assert second.against == "gpt"
    assert difference is not None
    assert difference.mean == pytest.approx(0.1)
    assert difference.half_width == pytest.approx(0.0, abs=1e-9)
    assert "IFEval, prompts" not in second.figures
    lone = row(found.rows, "gpt", "ruscarl")
    assert (lone.runs, lone.of, lone.figures["verinstruct"].value.half_width) == (1, 3, None)


def test_ungraded_responses_are_counted_and_are_no_zeros(folder: Path) -> None:
    leave(folder, "gpt-rubric-rl-0", scores=[1.0, None, 0.5])
    figure = row(read_results(folder).rows, "gpt", "rubric-rl").figures["verinstruct"]
    assert (figure.value.mean, figure.ungraded) == (0.75, 1)


def test_only_the_mean_over_a_data_set_is_clipped(folder: Path) -> None:
    leave(folder, "gpt-rubric-rl-0", scores=[-0.5, 1.0])
    leave(folder, "gpt-rubric-rl-1", scores=[-0.5, -0.5])
    figures = row(read_results(folder).rows, "gpt", "rubric-rl").figures["verinstruct"]
    assert figures.value.mean == pytest.approx((0.25 + 0.0) / 2)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("ifeval.json", "{", "is not what calipers ifeval --json prints"),
        ("ifeval.json", '{"inst_strict": 1}', "is not what calipers ifeval --json prints"),
        ("verinstruct.scores.jsonl", '{"a": 1}\n', r"scores.jsonl:1: is not a line of a result file"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(folder: Path, name: str, text: str, message: str) -> None:
    (folder / "results" / "base").mkdir(parents=True)
    (folder / "results" / "base" / name).write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=message):
        read_results(folder)


@pytest.mark.parametrize("plan", [None, "{", '{"format": "another"}', "[]"])
def test_a_folder_without_an_exported_study_is_an_error(tmp_path: Path, plan: str | None) -> None:
    if plan is not None:
        (tmp_path / "plan.json").write_text(plan, encoding="utf-8")
    with pytest.raises(ConfigError, match="has no exported study in it"):
        read_results(tmp_path)


# --- the commands -----------------------------------------------------------------------------------------------------


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.setattr("calipers.study.export.checking.is_verl_here", lambda: False)
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["calipers", "study", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        told = capsys.readouterr()
        return int(ended.value.code or 0), told.out, told.err

    return call


def test_the_table_is_printed_and_missing_runs_are_counted(run: Run, folder: Path) -> None:
    leave(folder, "base", scores=[0.25], strict=0.5)
    leave(folder, "big-no-std-rubric-rl-0", scores=[0.75, None])
    code, out, told = run("table", str(folder))
    assert code == 1
    assert "11 runs have no results yet" in told  # of 2 arms, 2 recipes, 3 seeds, and the policy before training
    assert "0.750 (1 ungraded)" in out
    assert "big, no std, against gpt" in out
    code, out, _ = run("table", str(folder), "--json")
    assert code == 1
    assert json.loads(out)["rows"][0]["figures"]["verinstruct"]["value"]["mean"] == 0.25


def test_a_dry_run_prints_the_plan_and_writes_nothing(run: Run, tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(study(), encoding="utf-8")
    code, out, told = run("export", "study.toml", "--dry-run")
    assert code == 0
    assert "GPUs 0, 1: gpt-rubric-rl-0" in out
    assert "GPUs 4, 5, 6, 7: judge big, Some/Judge-32B" in out
    assert "left out: noisy: its judge is simulated" in out
    assert "keys that the node needs: OPENAI_API_KEY" in out
    assert "nothing was written" in told
    assert "verl is not installed here" in told
    assert sorted(path.name for path in tmp_path.iterdir()) == ["study.toml"]


def test_problems_are_listed_and_nothing_is_written(run: Run, tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(study('data = "x"\nevaluate = ["y"]'), encoding="utf-8")
    code, _, told = run("export", "study.toml", "-o", "cluster")
    assert code == 2
    assert told.count("is no data set of the study") == 2
    assert not (tmp_path / "cluster").exists()


def test_an_export_is_written_again_over_its_results_and_over_nothing_else(run: Run, tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(study(), encoding="utf-8")
    assert run("export", "study.toml", "-o", "cluster")[0] == 0
    assert (tmp_path / "cluster" / "all.sh").stat().st_mode & 0o111
    leave(tmp_path / "cluster", "base", scores=[0.5])
    assert run("export", "study.toml", "-o", "cluster")[0] == 0
    assert (tmp_path / "cluster" / "results" / "base").is_dir()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work", encoding="utf-8")
    code, _, told = run("export", "study.toml", "-o", "mine")
    assert code == 2
    assert "has other files in it than an exported study's" in told
    code, _, told = run("export", "study.toml", "-o", "study.toml")
    assert code == 2
    assert "is a file" in told
    assert run("export", "study.toml")[0] == 2


@pytest.mark.parametrize(
    ("cluster", "left", "changed"),
    [
        ("steps = 700", "gpt-rubric-rl-0", True),
        ('model = "Qwen/Qwen2.5-3B-Instruct"', "base", True),
        ("steps = 700", "base", False),  # it is not trained
        ("first_port = 30000", "big-no-std-rubric-rl-0", False),  # the judge's addresses are others, and nothing else
        ("run_gpus = [[2, 3], [0, 1]]", "gpt-rubric-rl-0", False),
    ],
)
def test_results_of_other_settings_are_not_taken_over(
    run: Run, tmp_path: Path, cluster: str, left: str, *, changed: bool
) -> None:
    (tmp_path / "study.toml").write_text(study(), encoding="utf-8")
    assert run("export", "study.toml", "-o", "cluster")[0] == 0
    leave(tmp_path / "cluster", left, scores=[0.5])
    (tmp_path / "study.toml").write_text(study(cluster), encoding="utf-8")
    code, _, told = run("export", "study.toml", "-o", "cluster")
    assert code == (2 if changed else 0)
    assert (f"has checkpoints or results of {left}, made with other settings" in told) is changed
